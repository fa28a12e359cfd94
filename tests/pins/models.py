"""The pinned models: for each a population, a channel, where to ask, and which answers to write down."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpyro.distributions as dist

import confide as cf

P = cf.populations
CAUCHY = cf.Population(lambda loc: dist.Cauchy(loc, 1.0), {"loc": dist.constraints.real})
PARETO = cf.Population(lambda scale: dist.Pareto(scale, 2.0), {"scale": dist.constraints.positive})
WEIBULL = cf.Population(lambda scale: dist.Weibull(scale, 0.5), {"scale": dist.constraints.positive})
MIXTURE = cf.Population(
    lambda m: dist.MixtureSameFamily(
        dist.Categorical(probs=np.array([0.9, 0.1])), dist.Normal(m, np.array([1.0, 3.0]))
    ),
    {"m": dist.constraints.real},
)


@dataclass(frozen=True)
class Pin:
    """One model and what is asked of it: log p of `values` at each θ, F at the first θ, the posterior of the first value."""

    population: cf.Population
    statistic: cf.Statistic
    mechanism: cf.Mechanism
    n: int
    thetas: tuple
    values: tuple
    prior: dict | None = None
    route: str = "auto"
    information: str | None = "auto"
    methods: tuple[str, ...] = ("grid",)
    options: dict = field(default_factory=dict)

    @property
    def model(self) -> cf.Model:
        return cf.Model(self.population, cf.Channel(self.statistic, self.mechanism, self.n))


LAPLACE, GAUSSIAN = cf.Laplace(cf.PureDP(1.0)), cf.Gaussian(cf.ZCDP(0.5))
NARROW, WIDE = dist.Normal(0.0, 1.0), dist.Normal(0.0, 5.0)
POSITIVE = dist.Gamma(3.0, 2.0)
MEAN, VARIANCE, SCALE = {"mean": NARROW}, {"variance": dist.InverseGamma(3.0, 3.0)}, {"scale": POSITIVE}


def _means() -> dict[str, Pin]:
    """One noisy mean: clipped a little, much, everything; ties; few records and many; heavy tails; switches."""
    normal, spread = P.normal_mean(), P.normal_variance()
    around = ((0.0,), (0.7,), (-2.0,))
    of = cf.Mean
    return {
        "mean clipped": Pin(normal, of("x", (-1, 2)), LAPLACE, 100, around, (0.1, 0.4, -0.9), MEAN),
        "mean hardly clipped": Pin(normal, of("x", (-20, 20)), GAUSSIAN, 100, around, (0.1, -2.0), MEAN),
        "mean, many records": Pin(normal, of("x", (-3, 3)), LAPLACE, 10**5, ((0.0,), (0.01,)), (0.002,), MEAN),
        "mean of one record": Pin(normal, of("x", (-1, 1)), LAPLACE, 1, around, (0.1, 1.0, 3.0), MEAN),
        "mean of two records": Pin(normal, of("x", (-1, 1)), GAUSSIAN, 2, around, (0.1, 1.0), MEAN),
        "mean of seven cubes": Pin(spread, of("x**3", (0, 3)), cf.Laplace(cf.PureDP(5.0)), 7, ((0.7,),), (2.0, 5.0)),
        "mean of sizes": Pin(spread, of("abs(x)", (-10, 10)), LAPLACE, 100, ((2.0,), (0.5,)), (0.9, 1.4), VARIANCE),
        "mean of sizes, half clipped": Pin(spread, of("abs(x)", (-1, 1)), GAUSSIAN, 100, ((2.0,),), (0.7,), VARIANCE),
        "mean of squares": Pin(spread, of("x**2", (0, 4)), GAUSSIAN, 1000, ((1.0,), (2.0,)), (1.1,), VARIANCE),
        "mean of exponentials": Pin(normal, of("exp(-x)", (0, 3)), LAPLACE, 10, around, (0.5, 0.2), MEAN),
        "mean of a switch": Pin(normal, of("x*(x>1)", (0, 3)), LAPLACE, 30, around, (0.4, 0.8), MEAN),
        "mean of a sign": Pin(normal, of("sign(x-1)", (-5, 5)), LAPLACE, 100, around, (-0.5,), MEAN),
        "share above one": Pin(normal, of("x > 1", (-5, 5)), LAPLACE, 100, around, (0.2, 0.5), MEAN),
        "wide population": Pin(P.normal_mean(9e4), of("x", (0, 1)), cf.Laplace(scale=0.003), 100, ((0.0,),), (0.5,)),
        "cauchy": Pin(CAUCHY, of("x", (-3, 3)), GAUSSIAN, 100, ((0.3,), (0.0,)), (0.2,), {"loc": WIDE}),
        "cauchy, tamed": Pin(CAUCHY, of("x/(1+x**2)", (-30, 30)), GAUSSIAN, 100, ((0.3,),), (0.1,), {"loc": WIDE}),
        "pareto, moving end": Pin(PARETO, of("x", (0, 5)), cf.Laplace(scale=0.1), 50, ((1.5,), (1.05,)), (2.4,), SCALE),
        "uniform at a tie": Pin(
            P.uniform_width(), of("abs(x)", (0, 3)), cf.Gaussian(scale=0.1), 100, ((3.0,), (2.9,)), (1.5,)
        ),
        "weibull": Pin(WEIBULL, of("1/x", (0.25, 2)), LAPLACE, 40, ((2.0,),), (1.5,), SCALE),
        "mixture": Pin(MIXTURE, of("x", (-4, 4)), LAPLACE, 50, ((0.0,), (1.0,)), (0.3,), {"m": WIDE}),
        "exponential": Pin(
            P.exponential(), of("x", (0, 2)), LAPLACE, 100, ((1.0,), (3.0,)), (0.7,), {"rate": POSITIVE}
        ),
        "uniform at a kink": Pin(P.uniform_width(), of("abs(x)", (-3, 3)), LAPLACE, 20, ((3.0,),), (1.4,)),
    }


def _lattices() -> dict[str, Pin]:
    """Discrete records, discrete noise, and both, on equal and on different lattices."""
    coin, count = P.bernoulli(), P.poisson()
    share, rate = {"probability": dist.Beta(2.0, 2.0)}, {"rate": POSITIVE}
    step = cf.Laplace(cf.PureDP(1.0), step=0.01)
    thirds = cf.Laplace(scale=0.01, step=0.0025)
    return {
        "share": Pin(coin, cf.Mean("x", (0, 1)), LAPLACE, 100, ((0.3,), (0.9,)), (0.31, 1.2), share),
        "share, its own lattice": Pin(coin, cf.Mean("x", (0, 1)), step, 100, ((0.3,),), (0.31, 0.5), share),
        "share, finer lattice": Pin(coin, cf.Mean("x", (0, 1)), thirds, 100, ((0.3,),), (0.31,), share),
        "share of two": Pin(coin, cf.Mean("x", (0, 1)), cf.Laplace(scale=0.2, step=0.25), 2, ((0.3,),), (0.0, 0.5)),
        "counts": Pin(count, cf.Mean("x", (0, 10)), GAUSSIAN, 50, ((2.0,), (0.1,)), (2.2,), rate),
        "counts, lattice": Pin(
            count, cf.Mean("x", (0, 10)), cf.Gaussian(scale=0.2, step=0.02), 50, ((2.0,),), (2.2,), rate
        ),
        "overdispersed": Pin(P.negative_binomial(2.0), cf.Mean("x", (0, 6)), LAPLACE, 40, ((2.0,),), (2.0,)),
        "rare category": Pin(
            P.categorical(3), cf.Mean("x", (0, 2)), cf.Laplace(scale=0.005), 100, ((0.4995, 0.001, 0.4995),), (1.0,)
        ),
        "normal records, lattice noise": Pin(
            P.normal_mean(), cf.Mean("x", (-1, 2)), cf.Gaussian(scale=0.1, step=0.05), 40, ((0.5,),), (0.4, 0.45), MEAN
        ),
    }


def _orders() -> dict[str, Pin]:
    """Ranks under additive, smooth and exponential mechanisms."""
    normal, spread = P.normal_mean(), P.normal_variance()
    smooth, private = cf.SmoothCauchy(cf.PureDP(1.0)), cf.Exponential(cf.PureDP(1.0))
    wide, median = P.uniform_width(), cf.Median("x", (-3, 3))
    width = {"width": dist.Gamma(4.0, 2.0)}
    return {
        "median": Pin(normal, median, LAPLACE, 101, ((0.0,), (0.5,)), (0.2,), MEAN),
        "median, even n": Pin(normal, median, GAUSSIAN, 40, ((0.0,),), (0.2,), MEAN),
        "maximum": Pin(wide, cf.Maximum("x", (-5, 5)), cf.Laplace(scale=0.02), 30, ((2.0,),), (1.9,), width),
        "minimum of sizes": Pin(spread, cf.Minimum("abs(x)", (-3, 3)), LAPLACE, 10, ((1.0,),), (0.1,), VARIANCE),
        "quantile": Pin(normal, cf.Quantile("x", 0.9, bounds=(-3, 3)), GAUSSIAN, 100, ((0.0,),), (1.2,), MEAN),
        "median of a poisson": Pin(P.poisson(), cf.Median("x", (0, 10)), LAPLACE, 41, ((2.0,),), (2.1,)),
        "smooth median": Pin(normal, median, smooth, 101, ((0.0,),), (0.2,), MEAN, information=None),
        "exponential median": Pin(normal, median, private, 101, ((0.0,),), (0.2,), MEAN, information=None),
    }


def _locals() -> dict[str, Pin]:
    """One noisy value per record, and randomized answers."""
    normal, values = P.normal_mean(), ((0.2, 0.9, 4.0),)
    coins = ((0.0, 1.0, 1.0, 0.0),)
    answer = cf.RandomizedResponse(cf.PureDP(1.0))
    return {
        "each, Laplace": Pin(normal, cf.Each("x", (-2, 2)), LAPLACE, 3, ((0.0,), (1.0,)), values, MEAN),
        "each, Gaussian": Pin(normal, cf.Each("x", (-2, 2)), GAUSSIAN, 3, ((0.0,), (1.0,)), values, MEAN),
        "each, of counts": Pin(P.poisson(), cf.Each("x", (0, 4)), LAPLACE, 3, ((2.0,),), values),
        "answers": Pin(
            P.bernoulli(), cf.Each("x", (0, 1)), answer, 4, ((0.3,),), coins, {"probability": dist.Beta(2.0, 2.0)}
        ),
        "answers to a question": Pin(normal, cf.Each("x > 0", (-1, 1)), answer, 4, ((0.3,),), coins, MEAN),
    }


def _vectors() -> dict[str, Pin]:
    """Several numbers at once, and two parameters."""
    both, log = P.normal(), P.lognormal()
    prior = {"mean": NARROW, "variance": dist.InverseGamma(3.0, 3.0)}
    moments = cf.Mean(["x", "x**2"], (-3, 3))
    return {
        "two moments": Pin(both, moments, GAUSSIAN, 100, ((0.0, 1.0),), ((0.1, 1.1),), prior),
        "log moments": Pin(
            log, cf.Mean(["log(x)", "log(x)**2"], (0.01, 100)), GAUSSIAN, 500, ((0.0, 1.0),), ((0.1, 1.1),),
            {"loc": NARROW, "scale": POSITIVE},
        ),
        "one number, two parameters": Pin(both, cf.Mean("x", (-3, 3)), LAPLACE, 100, ((0.0, 1.0),), (0.2,), prior),
    }  # fmt: skip


def _approximate_and_sampled() -> dict[str, Pin]:
    """The normal approximation, and every sampler: the same key gives the same draws."""
    spread, statistic = P.normal_variance(), cf.Mean("abs(x)", (-3, 3))
    short = {"draws": 200, "warmup": 200, "chains": 2}
    asked = (spread, statistic, LAPLACE, 100, ((1.0,),), (0.8,), VARIANCE)
    median = (P.normal_mean(), cf.Median("x", (-3, 3)), cf.SmoothCauchy(cf.PureDP(1.0)), 41, ((0.0,),), (0.2,), MEAN)

    def sampled(method: str, *, of: tuple = asked, **options) -> Pin:
        return Pin(*of, information=None, methods=(method,), options=short | options)

    return {
        "normal approximation": Pin(*asked, route="normal", information="normal"),
        "nuts": sampled("nuts"),
        "mh": sampled("mh"),
        "pmmh on u": sampled("pmmh", latent="u"),
        "pmmh on z": sampled("pmmh", latent="z"),
        "mhaar on u": sampled("mhaar", latent="u"),
        "mhaar on z": sampled("mhaar", latent="z", subset=10),
        "gibbs": sampled("gibbs"),
        "correlated": sampled("correlated"),
        "mhaar on ranks": sampled("mhaar", of=median),
        "Algorithm 1": Pin(*asked, information="importance", methods=()),
        "Algorithm 2": Pin(*asked, information="replicates", methods=()),
    }


PINS: dict[str, Pin] = {
    **_means(), **_lattices(), **_orders(), **_locals(), **_vectors(), **_approximate_and_sampled()
}  # fmt: skip
