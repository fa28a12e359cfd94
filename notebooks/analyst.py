# %% [markdown]
# # The analyst: a number that somebody else published
#
# An office publishes: "41.72% of 5,000 people answered yes; Laplace noise of scale 0.01 was added to the share."

# %%
import matplotlib.pyplot as plt
import numpy as np
import numpyro.distributions as dist

import confide as cf

channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.01), n=5000)
release = cf.Release(channel, 0.4172)
population = cf.populations.bernoulli()
print(channel)

# %% [markdown]
# ## What does it say?

# %%
posterior = cf.infer(population, release, {"probability": dist.Beta(1.0, 1.0)})
print(posterior)
posterior.plot()

# %% [markdown]
# Without the noise in the model the interval would be too narrow by half:

# %%
naive = np.sqrt(0.4172 * (1 - 0.4172) / 5000)
print(f"honest ± {posterior.sd['probability']:.4f}, pretending that there is no noise ± {naive:.4f}")
assert posterior.sd["probability"] > 2 * naive

# %% [markdown]
# ## Does the prior matter?

# %%
for name, prior in {"flat": dist.Beta(1.0, 1.0), "sceptical": dist.Beta(50.0, 50.0)}.items():
    found = cf.infer(population, release, {"probability": prior})
    low, high = found.interval(0.9)["probability"]
    print(f"{name:10s} {found.mean['probability']:.4f}, 90% in ({low:.4f}, {high:.4f})")

# %% [markdown]
# ## Two numbers
#
# A second number about other people adds up. About the same people it only averages the noise, since both share their
# sampling error; whether they do must be said.

# %%
second = cf.Release(channel, 0.4031)
apart = cf.infer(population, [release, second], {"probability": dist.Beta(1.0, 1.0)}, same_records=False)
print(apart)
assert apart.sd["probability"] < posterior.sd["probability"]

# %% [markdown]
# ## Hand it on
#
# Draws for whatever comes next, and a page for whoever asks.

# %%
draws = posterior.draws["probability"].ravel()
print(f"P(more than 40%) = {np.mean(draws > 0.4):.2f}")
plt.figure()
plt.hist(draws, bins=40)
cf.report(posterior, "report.html")
