# %% [markdown]
# # The researcher: does the information predict the error, and is the kernel right?
#
# The paper's Section 5.1 in miniature: the variance of N(0, θ), θ = 2, n = 100, records clipped to (−10, 10).

# %%
import matplotlib.pyplot as plt
import numpyro.distributions as dist

import confide as cf

population = cf.populations.normal_variance()
prior = {"variance": dist.Uniform(0.01, 60.0)}
channels = {
    name: cf.Channel(cf.Mean(name, bounds=(-10, 10)), cf.Gaussian(cf.GDP(1.0)), n=100) for name in ("abs(x)", "x**2")
}

# %% [markdown]
# ## Information against error
#
# 200 simulated releases at each level of privacy, a posterior from each, and the squared error of its mean.

# %%
levels = [1.0, 2.0, 5.0, 10.0]
study = cf.study(population, channels, prior=prior, theta=2.0, privacy=levels, releases=200, route="normal")
table = study.table
print(table[["strategy", "privacy", "mse", "mse_se", "predicted_variance"]].round(3).to_string(index=False))

# %%
figure, axis = plt.subplots()
for name, rows in table.groupby("strategy"):
    axis.loglog(levels, rows["mse"], "o-", label=f"{name}: mean squared error")
    axis.loglog(levels, rows["predicted_variance"], "--", label=f"{name}: 1/F")
axis.set_xlabel("μ (Gaussian differential privacy)")
axis.legend()

# %% [markdown]
# The ranking by information is the ranking by error, at every level: abs(x) wins unless there is next to no noise.

# %%
mse = {name: rows["mse"].to_numpy() for name, rows in table.groupby("strategy")}
assert mse["abs(x)"][0] < mse["x**2"][0]

# %% [markdown]
# ## A kernel against the integral
#
# Algorithm 6 (MHAAR with the statistic latent) and Algorithm 4 (MH on the likelihood) have the same target as the grid.

# %%
channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100)
release, proper = cf.Release(channel, 1.21), {"variance": dist.InverseGamma(2.0, 2.0)}
exact = cf.infer(population, release, proper, route="normal")
chain = cf.infer(population, release, proper, method="mhaar", latent="u", key=1, warmup=300, draws=500)
error = chain.sd["variance"] / chain.diagnostics.ess["variance"] ** 0.5
print(exact, chain, chain.diagnostics, sep="\n")
assert abs(chain.mean["variance"] - exact.mean["variance"]) < 5 * error

# %% [markdown]
# ## Calibration
#
# Draw θ from the prior, simulate, infer, and rank the truth among the draws: uniform ranks if the method is right.

# %%
believed = {"variance": dist.InverseGamma(3.0, 4.0)}
calibration = cf.sbc(cf.Model(population, channel), believed, releases=40, route="normal")
print(calibration.p_value)
calibration.plot()
assert calibration.p_value["variance"] > 1e-6
