"""The route `cells`: noisy counts of disjoint cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from confide._random import as_key, split_in_two
from confide.errors import IncompatibleError
from confide.likelihood.cells.probabilities import cell_law, why_no_cells
from confide.likelihood.cells.sums import Counted
from confide.likelihood.cells.traced import log_p
from confide.likelihood.cells.window import CountNoise
from confide.likelihood.route import Floats, Route, require_finite
from confide.model import Model

if TYPE_CHECKING:
    from confide.mechanism.noise import Noise

#: published values that are drawn for an information
_DRAWS = 4096


@dataclass(frozen=True)
class Cells(Route):
    """Counts of disjoint cells with noise, by one contour integral.

    >>> import confide as cf
    >>> counts = cf.Histogram("x", edges=[0.0])
    >>> model = cf.Model(cf.populations.normal_mean(), cf.Channel(counts, cf.Laplace(scale=1.0, step=1), n=2))
    >>> print(model.log_likelihood(0.0, [1.0, 1.0]).round(6))      # (½ + ½e⁻²)·tanh²(½)
    -2.110093
    """

    name = "cells"
    error = "none"
    for_many_thetas = True
    #: what the draws of published values begin with, where an information is estimated
    key: int = 0

    def refuses(self, model: Model) -> str | None:
        """A histogram with additive noise of a population whose cells have known probabilities."""
        channel = model.channel
        if not channel.statistic.tallies:
            return "the cells route serves a Histogram; use route 'spectral', 'order' or 'records'"
        if channel.law.added is None:
            return "the cells route serves additive noise; use Laplace or Gaussian"
        if channel.n is None:
            return "the cells route serves a public number of records; `infer` sums over a private one"
        step = channel.law.added.step
        if step is not None and abs(1 / step - round(1 / step)) * step > 1e-9:
            return f"counts are rounded to multiples of {step:g}, which no exact route follows; use step=1"
        return why_no_cells(model.population, channel.statistic)

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """Inside a trace."""
        noise = count_noise(model)
        q = cell_law(model.population, model.channel.statistic).traced(jnp.asarray(theta))
        numbers = (jnp.asarray(noise.scale), jnp.asarray(noise.peak))
        return log_p(q, jnp.asarray(value), numbers, noise.exponential, model.channel.n)

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Float[Floats, "thetas values"]:
        """All θ (M, d), one published table after the other."""
        thetas, values = np.asarray(thetas), np.asarray(values)
        q = cell_law(model.population, model.channel.statistic).at(thetas)
        noise, n = count_noise(model), model.channel.n
        found = [Counted(value, noise, n).log_p(q) for value in values]
        return require_finite(model, thetas, values, np.stack(found, axis=1))

    def score(self, model: Model, thetas: Any, value: Any) -> Floats:
        """∂ log p(y | θ)/∂θ of one value at all θ (M, d): (M, d).

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Histogram("x", edges=[0.0]), cf.Laplace(scale=1.0), n=2)
        >>> print(Cells().score(cf.Model(cf.populations.normal_mean(), channel), [[0.0]], [1.0, 1.0]))
        [[0.]]
        """
        thetas, law = np.asarray(thetas), cell_law(model.population, model.channel.statistic)
        with jax.enable_x64(True):
            q, moves = law.at(thetas), law.slopes(thetas)
        _, slopes = Counted(np.asarray(value), count_noise(model), model.channel.n).log_p_and_slopes(q)
        return np.asarray(np.einsum("tj,tjd->td", slopes, moves))

    def information(self, model: Model, thetas: Any) -> NoReturn:
        """Refused: the mean of squared scores over all tables is estimated, and comes with its error."""
        del model, thetas
        raise IncompatibleError(
            "the cells route estimates the information; use information_with_error, or confide.information"
        )

    def information_with_error(
        self, model: Model, thetas: Any, *, size: int | None = None, key: Any = None
    ) -> tuple[Floats, Floats]:
        """The mean over simulated tables of exact scores squared, less that of normal tables, whose own is known.

        Scores of counts with much noise or many records are nearly linear in y; the information of their linear part,
        n²QᵀΣ⁻¹Q with Q the derivatives of the cells' probabilities and Σ the covariance of y, is in closed form, so
        that only the difference is simulated.
        """
        thetas, law = np.asarray(thetas), cell_law(model.population, model.channel.statistic)
        noise, n = count_noise(model), model.channel.n
        added = model.channel.law.added
        assert added is not None
        found = []
        for q, slopes in zip(law.at(thetas), law.slopes(thetas), strict=True):
            for_counts, for_noise = split_in_two(as_key(self.key if key is None else key))
            generator = np.random.default_rng(np.asarray(jax.random.key_data(for_counts)))
            counts = generator.multinomial(n, q / q.sum(), size or _DRAWS).astype(float)
            drawn = np.asarray(model.channel.law.sample(for_noise, jnp.asarray(counts)))
            covariance = n * (np.diag(q) - np.outer(q, q)) + float(added.variance) * np.eye(q.size)
            linear = (drawn - n * q) @ np.linalg.solve(covariance, n * slopes)
            known = n * n * slopes.T @ np.linalg.solve(covariance, slopes)
            exact = Counted(drawn, noise, n).log_p_and_slopes(np.broadcast_to(q, drawn.shape))[1] @ slopes
            apart = exact[:, :, None] * exact[:, None, :] - linear[:, :, None] * linear[:, None, :]
            found.append((known + apart.mean(axis=0), apart.std(axis=0, ddof=1) / math.sqrt(len(drawn))))
        return np.stack([matrix for matrix, _ in found]), np.stack([error for _, error in found])


def count_noise(model: Model) -> CountNoise:
    """The noise of a channel as sums over counts have it."""
    noise: Noise | None = model.channel.law.added
    assert noise is not None
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        peak = float(noise.log_prob(jnp.zeros(())))
    step = None if noise.step is None else float(noise.step)
    return CountNoise(noise.exponential, float(noise.scale), peak, step)
