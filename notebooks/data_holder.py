# %% [markdown]
# # The data holder: one number about 2,019 people
#
# The table has the doctor visits of 2,019 people in a year (RAND Health Insurance Experiment, public domain). How often
# do people see a doctor? We publish one number, at ε = 0.2, and want it to say as much as possible.

# %%
import matplotlib.pyplot as plt
import numpy as np
import numpyro.distributions as dist

import confide as cf

table = cf.datasets.doctor_visits()
print(table.read_text().splitlines()[:3])

# %% [markdown]
# ## Choose before you look
#
# Visits are overdispersed counts: a negative binomial, with a concentration around 0.7 from earlier studies. Nothing in
# this section reads the table.

# %%
population = cf.populations.negative_binomial(concentration=0.7)
models = {
    f"mean, clipped at {clip}": cf.Model(
        population, cf.Channel(cf.Mean("x", bounds=(0, clip)), cf.Laplace(cf.PureDP(0.2)), n=2019)
    )
    for clip in (5, 20, 80)
}
found = cf.compare(models, theta=np.linspace(1.0, 6.0, 6), method="normal")
print(found)

# %%
found.plot()
plt.title("A clip too low loses the tail, a clip too high drowns the rest in noise")

# %%
channel = models[found.best].channel
print(channel)

# %% [markdown]
# ## Open a budget, and release
#
# The budget is opened once and never changes. Checking it, drawing the noise, spending and storing are one transaction.

# %%
ledger = cf.Ledger("budget.db")
ledger.open("doctor-visits", budget=cf.PureDP(1.0))
release = cf.release(
    channel, table, column="visits", ledger=ledger, dataset="doctor-visits", purpose="how often people see a doctor"
)
release.save("release.json")
print(release)
print("left:", ledger.left("doctor-visits"))

# %% [markdown]
# Asking again is free: the ledger has the release, and hands out the same number.

# %%
again = cf.release(
    channel, table, column="visits", ledger=ledger, dataset="doctor-visits", purpose="how often people see a doctor"
)
assert again.value == release.value
assert ledger.spent("doctor-visits") == cf.PureDP(0.2)

# %% [markdown]
# ## What will others make of it?
#
# Only the data holder can put the truth beside it. (With 2,019 records the normal approximation of the mean is as good
# as exact, and quicker.)

# %%
posterior = cf.infer(population, release, {"mean": dist.Gamma(4.0, 1.0)}, route="normal")
visits = np.loadtxt(table, delimiter=",", skiprows=1, usecols=0)
print(posterior)
print(f"the records themselves: {visits.mean():.3f} ± {visits.std(ddof=1) / np.sqrt(visits.size):.3f}")
assert abs(posterior.mean["mean"] - visits.mean()) < 6 * posterior.sd["mean"]

# %% [markdown]
# The posterior's spread is sampling, noise and clipping together. Where the negative binomial's tail is not the
# truth's, the clipped mean is read slightly wrong: a model is an assumption, and a wider clip leans on it less, at a
# price in noise.

# %%
cf.report(found, "choice.html")
cf.report(release, "release.html")
