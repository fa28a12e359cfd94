"""`Model.distribution` inside NumPyro's NUTS: ten models and a pool against quadrature, and a hierarchy of eight wards.

The hierarchy is calibrated (ranks of the truth among draws are uniform), and its draws come some ten times as fast as those
of the same model with the records as latent variables.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS, DiscreteHMCGibbs
from scipy import stats

import confide as cf

pytestmark = pytest.mark.slow
P, LAPLACE, GAUSSIAN = cf.populations, cf.Laplace(cf.PureDP(1.0)), cf.Gaussian(cf.GDP(1.0))
SHARE, WIDE, POSITIVE = dist.Beta(2.0, 2.0), dist.Normal(0.0, 2.0), dist.Gamma(2.0, 1.0)
TEN = {
    "share": (P.bernoulli(), cf.Mean("x", (0, 1)), LAPLACE, 30, SHARE),
    "answers": (P.bernoulli(), cf.Each("x", (0, 1)), cf.RandomizedResponse(cf.PureDP(1.0)), 30, SHARE),
    "clipped mean": (P.normal_mean(), cf.Mean("x", (-3, 3)), LAPLACE, 30, WIDE),
    "waiting": (P.exponential(), cf.Mean("x", (0, 5)), GAUSSIAN, 50, POSITIVE),
    "counts": (P.poisson(), cf.Mean("x", (0, 9)), LAPLACE, 30, POSITIVE),
    "spread": (P.normal_variance(), cf.Mean("abs(x)", (-9, 9)), LAPLACE, 60, dist.InverseGamma(3.0, 4.0)),
    "lattice": (P.bernoulli(), cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0), step=0.01), 20, SHARE),
    "median": (P.normal_mean(), cf.Median("x", (-5, 5)), cf.Laplace(cf.PureDP(5.0)), 41, WIDE),
    "records": (P.normal_mean(), cf.Each("x", (-4, 4)), cf.Laplace(cf.PureDP(4.0)), 20, WIDE),
    "one record": (P.normal_mean(), cf.Mean("x", (-5, 5)), LAPLACE, 1, WIDE),
    "smooth median": (P.normal_mean(), cf.Median("x", (-5, 5)), cf.SmoothLaplace(cf.ApproxDP(2.0, 1e-4)), 41, WIDE),
}
#: what is not exact is the same function of theta for both: few windows, but the same ones
FEW_WINDOWS = cf.Pool(size=256)


@pytest.mark.parametrize("name", TEN)
def test_nuts_agrees_with_quadrature(name):
    population, statistic, mechanism, n, prior = TEN[name]
    model = cf.Model(population, cf.Channel(statistic, mechanism, n=n))
    (parameter,) = population.names
    value = np.asarray(model.simulate(5, float(prior.mean)))
    route = FEW_WINDOWS if name == "smooth median" else "auto"
    exact = cf.infer(population, cf.Release(model.channel, value), {parameter: prior}, method="grid", route=route)

    def own(y):
        theta = numpyro.sample("theta", prior)
        numpyro.sample("y", model.distribution({parameter: theta}, route), obs=y)

    with jax.enable_x64(True):
        chains = MCMC(NUTS(own), num_warmup=500, num_samples=2000, progress_bar=False)
        chains.run(jax.random.key(list(TEN).index(name)), value)
        draws = np.asarray(chains.get_samples()["theta"])
    size = effective_sample_size(draws[None])
    mean, sd = exact.mean[parameter], exact.sd[parameter]
    z = (draws.mean() - mean) / (sd / np.sqrt(size))
    wide = (draws.std() / sd - 1.0) * np.sqrt(size / 2)
    print(f"{name}: {size:.0f} effective draws, z of the mean {z:.2f}, of the deviation {wide:.2f}")
    assert abs(z) < 4.9
    assert abs(wide) < 8.0  # tails are heavier than the normal's, whose kurtosis the 2 is


def ward_of(n):
    return cf.Model(P.bernoulli(), cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(0.5)), n=n))


WARD = ward_of(120)
NAMES = ("centre", "spread", "first")


def wards(published=None, ward=WARD):
    centre = numpyro.sample("centre", dist.Normal(-1.0, 1.0))
    spread = numpyro.sample("spread", dist.HalfNormal(0.5))
    with numpyro.plate("ward", 8):
        shift = numpyro.sample("shift", dist.Normal(0.0, 1.0))
        share = numpyro.deterministic("share", jax.nn.sigmoid(centre + spread * shift))
        numpyro.sample("published", ward.distribution({"probability": share}), obs=published)


def with_records(published=None, ward=WARD):
    """The same with records that nobody has seen."""
    centre = numpyro.sample("centre", dist.Normal(-1.0, 1.0))
    spread = numpyro.sample("spread", dist.HalfNormal(0.5))
    with numpyro.plate("ward", 8, dim=-2):
        shift = numpyro.sample("shift", dist.Normal(0.0, 1.0))
        share = jax.nn.sigmoid(centre + spread * shift)
        with numpyro.plate("record", ward.channel.n, dim=-1):
            records = numpyro.sample("records", dist.Bernoulli(share))
    with numpyro.plate("release", 8):
        scale = float(ward.channel.law.noise.scale)
        numpyro.sample("published", dist.Laplace(records.mean(axis=-1), scale), obs=published)


def test_the_hierarchy_is_calibrated():
    count, draws = 200, 99
    rng, ranks = np.random.default_rng(4), []

    @jax.jit  # one program: chains that are run again compile again, and two hundred times are more than memory maps hold
    def drawn(key, values):
        chains = MCMC(NUTS(wards), num_warmup=300, num_samples=5 * draws, thinning=5, progress_bar=False)
        chains.run(key, values)
        return chains.get_samples()

    with jax.enable_x64(True):
        for _ in range(count):
            centre, spread = rng.normal(-1.0, 1.0), abs(rng.normal(0.0, 0.5))
            share = 1 / (1 + np.exp(-(centre + spread * rng.normal(size=8))))
            values = rng.binomial(120, share) / 120 + rng.laplace(0.0, float(WARD.channel.law.noise.scale), 8)
            found = drawn(jax.random.key(int(rng.integers(2**31))), jnp.asarray(values))
            kept = (found["centre"], found["spread"], found["share"][:, 0])
            ranks.append(
                [
                    int(np.sum(np.asarray(each) < true))
                    for each, true in zip(kept, (centre, spread, share[0]), strict=True)
                ]
            )
    for name, column in zip(NAMES, np.asarray(ranks).T, strict=True):
        p = stats.chisquare(np.bincount(column // 10, minlength=10)).pvalue
        print(f"{name}: p = {p:.3f} of {count} ranks in ten cells")
        assert p > 1e-4


@pytest.mark.parametrize(("n", "draws", "least"), [(120, 300, 4), (1000, 100, 20)])
def test_faster_than_latent_records(n, draws, least):
    """By how much depends on n: ours are sums of n + 1 terms, beside which NumPyro's own bookkeeping is nearly all."""
    published = jnp.asarray([0.28, 0.19, 0.24, 0.37, 0.17, 0.22, 0.31, 0.26])
    ward = ward_of(n)

    def speed(kernel, warmup, count):
        """The fewest effective draws of centre and spread, per second of sampling (compilation left out)."""
        chains = MCMC(kernel, num_warmup=warmup, num_samples=count, progress_bar=False)
        chains.warmup(jax.random.key(0), published, ward)
        chains.run(jax.random.key(1), published, ward)
        chains.post_warmup_state = chains.last_state
        began = time.process_time()
        chains.run(jax.random.key(2), published, ward)
        jax.block_until_ready(chains.get_samples())
        spent = time.process_time() - began
        found = chains.get_samples(group_by_chain=True)
        return min(
            float(effective_sample_size(np.asarray(found[name]))) for name in ("centre", "spread")
        ) / spent, found

    ours, one = speed(NUTS(wards), 500, 1000)
    theirs, two = speed(DiscreteHMCGibbs(NUTS(with_records), modified=True), draws, draws)
    told = [float(np.mean(found["centre"])) for found in (one, two)]
    print(
        f"n = {n}: {ours:.1f} against {theirs:.3f} effective draws a second: {ours / theirs:.0f} times; centres {told}"
    )
    assert ours > least * theirs  # beside other work
