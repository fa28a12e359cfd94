"""Simulation-based calibration: whether a method is right on average over its own prior (Talts et al. 2018).

Draw θ from the prior and a value from the model, infer, and rank θ among the posterior's draws. If the method is
right the ranks are uniform.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from confide._precision import float64
from confide._random import as_key, key_as_numbers, key_of_numbers
from confide.errors import InvalidArgument
from confide.inference.verb import infer
from confide.model import Model
from confide.prior import Prior
from confide.published import Release
from confide.workers import check_executor, computed


@dataclass(frozen=True, repr=False)
class Calibration:
    """Ranks of the true parameters among `size` thinned posterior draws, one row per simulated release.

    >>> import confide as cf, numpyro.distributions as dist
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
    >>> model = cf.Model(cf.populations.bernoulli(), channel)
    >>> found = cf.sbc(model, {"probability": dist.Beta(1.0, 1.0)}, releases=20, route="normal")
    >>> found.ranks.shape, found.size
    ((20, 1), 63)
    """

    ranks: NDArray[np.int64]
    size: int
    names: tuple[str, ...]
    method: str

    @property
    def p_value(self) -> dict[str, float]:
        """How likely ranks as uneven as these are if the method is right: chi-square over bins, by parameter."""
        from scipy import stats

        return {name: float(stats.chisquare(self.counts(j)).pvalue) for j, name in enumerate(self.names)}

    def counts(self, column: int = 0) -> NDArray[np.int64]:
        """Ranks in equal bins, with at least five expected in each.

        >>> import confide as cf, numpyro.distributions as dist
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
        >>> model = cf.Model(cf.populations.bernoulli(), channel)
        >>> found = cf.sbc(model, {"probability": dist.Beta(1.0, 1.0)}, releases=20, route="normal")
        >>> int(found.counts().sum())
        20
        """
        bins = max(2, min(20, self.size + 1, self.ranks.shape[0] // 5))
        edges = np.linspace(-0.5, self.size + 0.5, bins + 1)
        # a rank is spread over the integers that share a bin, so that bins need not divide the number of ranks
        jitter = np.random.default_rng(0).uniform(-0.5, 0.5, self.ranks.shape[0])
        return np.histogram(self.ranks[:, column] + jitter, edges)[0]

    def plot(self) -> Any:
        """Rank histograms, with the band that holds 99% of the bars if the method is right.

        >>> import confide as cf, numpyro.distributions as dist
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
        >>> model = cf.Model(cf.populations.bernoulli(), channel)
        >>> found = cf.sbc(model, {"probability": dist.Beta(1.0, 1.0)}, releases=20, route="normal")
        >>> type(found.plot()).__name__
        'Figure'
        """
        import matplotlib.pyplot as plt
        from scipy import stats

        figure, axes = plt.subplots(
            1, len(self.names), figsize=(4.2 * len(self.names), 3.0), squeeze=False, layout="constrained"
        )
        for j, panel in enumerate(axes[0]):
            counts = self.counts(j)
            low, high = stats.binom.interval(0.99, self.ranks.shape[0], 1 / counts.size)
            places = (np.arange(counts.size) + 0.5) / counts.size
            panel.bar(places, counts, width=0.92 / counts.size, color="#0072B2")
            panel.axhspan(low, high, color="#999999", alpha=0.35, linewidth=0)
            panel.set_xlabel(f"rank of {self.names[j]} among posterior draws")
            panel.set_ylabel("releases")
            panel.spines[["top", "right"]].set_visible(False)
        return figure

    def __str__(self) -> str:
        told = ", ".join(f"{name}: p = {value:.3g}" for name, value in self.p_value.items())
        return f"Calibration of method {self.method!r} over {self.ranks.shape[0]} simulated releases ({told})"

    __repr__ = __str__


@float64
def sbc(
    model: Model,
    prior: Any,
    *,
    method: str = "auto",
    key: Any = 0,
    releases: int = 200,
    size: int = 63,
    thin: int = 1,
    executor: Any = None,
    **options: Any,
) -> Calibration:
    """Calibrate a method on a model: ranks of the truth over simulated releases.

    `size` posterior draws are kept for each, every `thin`-th one; correlated draws must be thinned. An
    `executor` infers from the releases, if one is given (`Workers(8)`, or anything with `submit` as in
    `concurrent.futures`), with the same ranks. Options go to `infer`.

    >>> import confide as cf, numpyro.distributions as dist
    >>> channel = cf.Channel(cf.Mean("x", bounds=(-5, 5)), cf.Gaussian(cf.GDP(1.0)), n=50)
    >>> model = cf.Model(cf.populations.normal_mean(), channel)
    >>> found = cf.sbc(model, {"mean": dist.Normal(0.0, 1.0)}, releases=20)
    >>> found.ranks.shape
    (20, 1)
    """
    if not isinstance(model, Model):
        raise InvalidArgument("model", model, "is not a model", "use Model(population, channel)")
    for name, count in (("releases", releases), ("size", size), ("thin", thin)):
        if not isinstance(count, int) or count < (10 if name == "releases" else 1):
            raise InvalidArgument(name, count, "is too small a count", "use for example releases=200, size=63, thin=1")
    check_executor(executor)
    checked = Prior.of(model.population, prior)
    for_theta, for_value, for_infer = jax.random.split(as_key(key), 3)
    thetas = np.asarray(checked.sample(for_theta, (releases,)))
    values = np.asarray(model.simulate(for_value, thetas))
    settings = {"method": method, "chains": 1, "draws": size * thin, **options}
    shared = (model, checked, size, thin, *key_as_numbers(for_infer), settings)
    tasks = [(index, thetas[index], values[index]) for index in range(releases)]
    found = dict(computed(_rank, shared, tasks, executor, "calibrating"))
    rows, used = [found[index][0] for index in range(releases)], found[releases - 1][1]
    named = [
        name if size_ == 1 else f"{name}[{j}]"
        for name, size_ in zip(checked.names, checked.sizes, strict=True)
        for j in range(size_)
    ]
    return Calibration(np.asarray(rows), size, tuple(named), used)


def _rank(
    model: Model,
    prior: Prior,
    size: int,
    thin: int,
    implementation: str,
    key: NDArray[np.uint32],
    settings: Mapping[str, Any],
    index: int,
    theta: NDArray[np.float64],
    value: Any,
) -> tuple[NDArray[np.int64], str]:
    """Where the truth stands among the draws from one release, and the method that was taken."""
    own = jax.random.fold_in(key_of_numbers(implementation, key), index)
    found = infer(model.population, Release(model.channel, value), prior, key=own, **settings)
    draws = np.concatenate([found.draws[name][0, ::thin].reshape(size, -1) for name in found.names], axis=1)
    return np.sum(draws < theta, axis=0), found.method
