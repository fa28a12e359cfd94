"""Noisy counts of a private number of records: p(y | θ), summed over n.

With a flat prior the sum over n is an integral. Given a Poisson number of records of mean t the counts of the cells are
independent, and the Poisson laws of all t together are flat on the whole numbers:

    Σ_n n!·[zⁿ] Π_j G_j(q_j z) = ∫₀^∞ e^{−t} Π_j G_j(q_j t) dt,      G_j(w) = Σ_{c ≥ 0} wᶜ/c!·g(y_j − c).

Nothing cancels. In log t the integrand is analytic, falls off on both sides and is no narrower than a Poisson law, so
that the trapezoidal rule is right to rounding; its step is halved until it says so. A proper prior is summed over n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from confide.errors import AccuracyError, IncompatibleError
from confide.likelihood.cells.over_means import over_means
from confide.likelihood.cells.probabilities import cell_law
from confide.likelihood.cells.route import Cells, count_noise
from confide.likelihood.cells.sums import Counted, Tilted
from confide.likelihood.joint_law import Joint, checked
from confide.likelihood.route import Floats
from confide.likelihood.totals.inversion import NumberTerms
from confide.likelihood.totals.number import NumberPrior, hull_of
from confide.model import Model

#: nats below the largest at which a t, or an n, is left out
_DROP = 42.0
#: widest step in log t (the integrand is analytic for |Im log t| < π/2), and its share of a Poisson law's width there
_STEP, _SHARE = 0.25, 0.7
#: what halving the step may change, how often it is halved, and steps of the search for a mode
_SETTLED, _HALVINGS, _STEPS = 1e-12, 6, 100
#: numbers of records that are looked at one by one; of more, nodes of a polynomial, and what it may be off elsewhere;
#: and the first numbers, of which each is looked at
_ONE_BY_ONE, _NODES, _HOLDS = 160, (61, 121, 241), 1e-8
_FEW = 64


@dataclass(frozen=True, eq=False)
class PrivateCells(Joint):
    """The counts of one histogram, of records whose number is private."""

    model: Model
    value: Any
    prior: NumberPrior

    name = Cells.name
    error = "none (checked)"
    for_many_thetas = True
    #: whether n is known by its exact law given θ, and what else is published: as callers ask of other releases
    exact = True
    sums = ()

    def __post_init__(self) -> None:
        reason = Cells().refuses(self.model.assuming(1))
        if reason is not None:
            raise IncompatibleError(reason)

    @property
    def models(self) -> tuple[Model, ...]:  # type: ignore[override]
        """The one model."""
        return (self.model,)

    @cached_property
    def counted(self) -> Counted:
        """What was published; the number of records in it is not used."""
        noise = count_noise(self.model)
        return Counted(np.asarray(self.value, dtype=np.float64), noise, 1)

    def check(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The counts, of the channel's shape."""
        return checked(self.models, [Cells()], values)

    def log_prob(self, theta: Any, values: Sequence[Any]) -> NoReturn:
        """Refused: which n count is decided by known numbers."""
        raise IncompatibleError(
            "three parameters or more of noisy counts of a private number of records have no likelihood inside a "
            "chain; give the number of records in the prior, if it is known, as in prior | {'n': 5000}, or merge cells"
        )

    def inside_a_trace(self, theta: jax.Array, value: jax.Array) -> jax.Array:
        """log p at one θ, of which all may be traced, the counts too: those here are not used. n has a flat prior."""
        if self.prior.proper:
            raise IncompatibleError(
                "noisy counts of a private number of records that has a prior have no likelihood inside a trace; leave "
                "n out, for a flat prior, give a number that is assumed, or use infer"
            )
        q = cell_law(self.model.population, self.model.channel.statistic).traced(jnp.asarray(theta))
        noise = self.counted.noise
        return over_means(q, jnp.asarray(value), (jnp.asarray(noise.scale), jnp.asarray(noise.peak)), noise.exponential)

    def log_likelihood(self, thetas: Any, values: Sequence[Any] = ()) -> Floats:
        """log Σ_n π(n) p_n(y | θ) at all θ."""
        del values
        if not self.prior.proper:
            return np.array([self.over_means(row)[0] for row in self._cells(thetas)])
        found = np.empty(len(thetas))
        for group, terms in self.number_terms(thetas):
            with np.errstate(divide="ignore"):
                found[group] = logsumexp(terms.log_terms, axis=1)
        return found

    def number_terms(self, thetas: Any) -> list[tuple[NDArray[np.intp], NumberTerms]]:
        """log π(n) p_n(y | θ) for every n that counts."""
        q = self._cells(thetas)
        if self.prior.proper:
            low, high = hull_of(self.prior.log_prob, self.prior.typical(), _DROP)
        else:
            ends = np.array([self._numbers(row) for row in q])
            low, high = max(math.floor(ends[:, 0].min()), 0), math.ceil(ends[:, 1].max())
        numbers = np.arange(low, high + 1.0)
        return [(np.arange(len(q)), NumberTerms(numbers, self._given(numbers, q).T + self.prior.log_prob(numbers)))]

    def _cells(self, thetas: Any) -> Floats:
        with jax.enable_x64(True):
            return np.asarray(cell_law(self.model.population, self.model.channel.statistic).at(np.asarray(thetas)))

    def _numbers(self, q: Floats) -> tuple[float, float]:
        """The n that count at one q: those that belong to the t that count."""
        weights = self._tilted(q, np.array(self.over_means(q)[1:]))
        mean, spread = weights.mean.sum(axis=1), np.sqrt(weights.variance.sum(axis=1))
        noise = self.counted.noise
        further = _DROP * float(noise.scale) if noise.exponential else 0.0
        return mean[0] - 9 * spread[0] - further, mean[1] + 9 * spread[1] + further

    def _given(self, numbers: Floats, q: Floats) -> Floats:
        """log p_n(y | q) of consecutive n: (numbers, θ). Of many, by a polynomial in n that is compared elsewhere."""
        few = int(np.sum(numbers < _FEW))
        if numbers.size <= _ONE_BY_ONE:
            return np.stack([self._at(int(n), q) for n in numbers])
        if few:  # where it bends too much for a polynomial
            return np.concatenate([self._given(numbers[:few], q), self._given(numbers[few:], q)])
        from scipy.interpolate import BarycentricInterpolator  # takes longer to load than most posteriors

        low, high = numbers[0], numbers[-1]
        looked_at = np.round(low + (high - low) * np.array([0.003, 0.11, 0.39, 0.72, 0.993]))
        known = np.stack([self._at(int(n), q) for n in looked_at])
        for count in _NODES:
            at = np.unique(np.round(low + (high - low) * 0.5 * (1 - np.cos(np.pi * np.linspace(0, 1, count)))))
            between = BarycentricInterpolator(at, np.stack([self._at(int(n), q) for n in at]))
            if np.all(np.abs(between(looked_at) - known) < _HOLDS * np.maximum(1.0, np.abs(known))):
                return np.asarray(between(numbers))
        return np.stack([self._at(int(n), q) for n in numbers])

    def _at(self, n: int, q: Floats) -> Floats:
        """log p_n(y | q)."""
        counted = self.counted
        if n == 0:
            return np.full(len(q), np.sum(counted.noise.log_g(np, counted.y, 0.0)))
        return Counted(counted.y, counted.noise, n).log_p(q)

    def over_means(self, q: Floats) -> tuple[float, float, float]:
        """log ∫ e^{−t} Π G_j(q_j t) dt at one q, and the ends of the log t that count."""
        middle = self._mode(q)
        low, high = self._end(q, middle, -1.0), self._end(q, middle, 1.0)
        step = min(_STEP, _SHARE / math.sqrt(max(math.exp(high), 1.0)))
        points = np.linspace(low, high, max(math.ceil((high - low) / step), 8) + 1)
        logs = self._integrand(q, points)
        before = _trapezoid(logs, points)
        for _ in range(_HALVINGS):
            halves = 0.5 * (points[1:] + points[:-1])
            points, logs = _merged(points, halves), _merged(logs, self._integrand(q, halves))
            found = _trapezoid(logs, points)
            if abs(found - before) < _SETTLED * max(1.0, abs(found)):
                return found, low, high
            before = found
        raise AccuracyError("the integral over how many records there are did not settle; please report it")

    def _tilted(self, q: Floats, log_t: Floats) -> Tilted:
        return Tilted(self.counted, np.broadcast_to(q, (log_t.size, q.size)), log_t, whole=False)

    def _integrand(self, q: Floats, log_t: Floats) -> Floats:
        """The logarithm of the integrand in log t, in blocks whose windows are near each other."""
        blocks = np.array_split(log_t, math.ceil(log_t.size / 64))
        totals = [self._tilted(q, block).log_total.sum(axis=1) for block in blocks]
        return np.asarray(np.concatenate(totals) - np.exp(log_t) + log_t)

    def _mode(self, q: Floats) -> float:
        """Where the integrand in log t is largest: 1 − t + Σ E c_j = 0, whose left side falls; Newton in a bracket."""
        low, high = -60.0, math.log(max(self.counted.y.sum(), 0.0) + 100 * float(self.counted.noise.scale) + 100) + 3
        here = math.log(max(self.counted.y.sum(), 0.0) + 1)
        for _ in range(_STEPS):
            weights = self._tilted(q, np.array([here]))
            rising = 1 - math.exp(here) + float(weights.mean.sum())
            low, high = (here, high) if rising > 0 else (low, here)
            step = rising / max(math.exp(here) - float(weights.variance.sum()), 1e-300)
            if abs(step) < 0.1 / math.sqrt(1 + math.exp(here)):
                break
            here = here + step if low < here + step < high else 0.5 * (low + high)
        return here

    def _end(self, q: Floats, middle: float, way: float) -> float:
        """Where the integrand has fallen by e^−42 on one side."""
        top = self._integrand(q, np.array([middle]))[0]
        step = 0.5 * _SHARE / math.sqrt(1 + math.exp(middle))
        while self._integrand(q, np.array([middle + way * step]))[0] > top - _DROP:
            step *= 1.6
        return middle + way * step


def _merged(ends: Floats, between: Floats) -> Floats:
    found = np.empty(ends.size + between.size)
    found[::2], found[1::2] = ends, between
    return found


def _trapezoid(logs: Floats, points: Floats) -> float:
    # both ends are negligible
    return float(logsumexp(logs) + math.log(points[1] - points[0]))
