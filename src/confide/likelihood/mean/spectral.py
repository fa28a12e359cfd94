"""The spectral route: the exact law of a noisy mean, by inverting its transform.

p(y | θ) for `Mean` of a scalar s with Laplace or Gaussian noise, continuous or on a lattice, for any n ≥ 2 at which the
transform decays. No central limit theorem: clipping, skewness and lattices are all in it. What is chosen here is the
route to each value: `frequencies` has the frequency grids, `integral` does the integral.

Errors are checked, not assumed: a bound on the integral beyond the last frequency must be below 1e-10 of the whole.
Where it is not met the atoms of the record's law are taken out and as many frequencies used as it takes
(`slow_inversion`); on a lattice the law of the sum is added up (`sums`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from confide.errors import AccuracyError, IncompatibleError
from confide.likelihood.completed import Completed, completed
from confide.likelihood.inversion import shared_contours
from confide.likelihood.inversion.frequencies import CUT, SETTLED, Group, in_blocks, plan
from confide.likelihood.mean import at_once, inside_a_trace, spectral_information, told_by_masses
from confide.likelihood.noise.channel import noise_transform
from confide.likelihood.noise.lattice import lattice_spacing
from confide.likelihood.record_law.fixed import record_law
from confide.likelihood.record_law.slopes import moves
from confide.likelihood.route import Route, require_finite
from confide.likelihood.score_integral import Tells
from confide.likelihood.slow_inversion import rounded, rounded_sums, rounded_tails
from confide.likelihood.slow_inversion.pairs import SETTLED as SETTLED_SLOWLY
from confide.likelihood.slow_inversion.pairs import invert_slowly
from confide.likelihood.slow_inversion.sums import sums_at

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]


#: cells by which rounded means are computed, at how many θ at most, and the error that is let pass: .03 seconds each
#: before they are inverted with more frequencies, which takes longer and may not settle; .2 and .7 afterwards
_QUICK, _CAREFUL = (2**11, 1000, 2e-9), ((2**16, 32, SETTLED_SLOWLY), (2**18, 8, SETTLED_SLOWLY))
#: the error of an inversion of the tails of a rounded mean that is let pass
_BY_TAILS = 2e-9


@dataclass(frozen=True)
class Spectral(Route):
    """Exact inversion of the transform of a noisy scalar mean.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
    >>> model = cf.Model(cf.populations.normal_variance(), channel)
    >>> print(model.log_likelihood(2.0, 0.9, route=cf.Spectral()).round(6))
    -1.875881
    """

    name = "spectral"
    error = "none (checked to 1e-7)"
    for_many_thetas = True
    falls_back_to = "normal"
    of_rows = True

    def refuses(self, model: Model) -> str | None:
        """A scalar mean with additive noise, of two records or more."""
        channel = model.channel
        if not channel.statistic.averages or channel.statistic.dimension > 1:
            return "the spectral route serves a scalar Mean; use route 'order', 'records' or 'normal'"
        if channel.n == 1:
            return "the mean of one record is the record itself; use route 'records'"
        if channel.law.added is None or noise_transform(model) is None:
            return "the spectral route serves Laplace and Gaussian noise; use latent methods for other noise"
        return None

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Float[Floats, "thetas values"]:
        """Grouped, checked inversion at concrete θ and y."""
        thetas, values = np.asarray(thetas), np.asarray(values)
        if rounded.serves(model):
            found = rounded.log_likelihood(model, thetas, values, partial(_inverted, model))
        else:
            found = _inverted(model, thetas, values)
        return require_finite(model, thetas, values, found)

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """One θ inside a trace, where nothing can be tried again."""
        return inside_a_trace.log_prob(model, theta, value)

    def completed(self, model: Model, theta: Any, value: Any) -> Completed:
        """By the derivative in the weights of the record's nodes, which must not move."""
        if moves(model.population):
            raise IncompatibleError(
                f"the support or a kink of {model.population.name} moves with its parameters, so that no fixed nodes "
                "hold the records that EM completes; use maximize='newton'"
            )
        law = record_law(model.population, model.channel.statistic, np.asarray(theta).reshape(1, -1))
        return completed(inside_a_trace.of_law, model, law, theta, value)

    def tails(self, model: Model, thetas: Any, values: Any) -> tuple[Floats, Floats] | None:
        """Of records on a lattice, by the masses of their sum."""
        if lattice_spacing(model.population, model.channel.statistic) is None:
            return None
        thetas, values = np.asarray(thetas), np.asarray(values)
        found = np.empty((2, len(thetas), len(values)))
        for group in plan(model, thetas, checked=False):
            for row, law in zip(group.index, sums_at(group, group.thetas), strict=True):
                if law is None:
                    return None
                points = told_by_masses.rounded(model, law.u)
                found[:, row] = np.stack(told_by_masses.tails(model, points, law.masses[:1], values))[:, 0]
        return found[0], found[1]

    def told(self, model: Model, thetas: Any) -> Sequence[Iterable[Tells]]:
        """On panels of y, or by the masses of a sum on a lattice."""
        return spectral_information.told(model, np.asarray(thetas))


def _inverted(model: Model, thetas: Floats, values: Floats) -> Floats:
    """log p at all θ and values, or an error in words."""
    result, cut = np.full((len(thetas), len(values)), -np.inf), np.full((len(thetas), len(values)), np.inf)
    # nodes that move are made anew for each θ, and so would be all that a compiled program shares between them
    alone = moves(model.population) and len(values) < shared_contours.FEWEST and at_once.serves(noise_transform(model))
    groups = plan(model, thetas, checked=not alone)
    for group in (each for each in groups if not each.slow):
        at_values = _one_by_one if alone else _at_values
        result[group.index], cut[group.index] = at_values(group, thetas[group.index], values)
    cells = rounded.coarse(model) and model.population.rows is None  # of one column
    if cells:
        _by_tails(groups, values, result, cut)
        _by_cells(model, thetas, values, result, cut, _QUICK)
    lost = _lost(result, cut)
    for group in groups:
        if np.any(lost[group.index]):
            _decide(group, lost[group.index], values, result, cut)
    if cells:
        for care in _CAREFUL:
            _by_cells(model, thetas, values, result, cut, care)
    _require_decay(model, values, result, cut)
    return result


def _by_tails(groups: Sequence[Group], values: Floats, result: Floats, cut: Floats) -> None:
    """Put what the tails of a rounded mean say where its transform decays before that of the noise comes back."""
    for group in (each for each in groups if each.slow):
        log_p, error = rounded_tails.log_likelihood(group, group.thetas, values)
        sure = error < _BY_TAILS
        rows, columns = np.nonzero(sure)
        result[group.index[rows], columns], cut[group.index[rows], columns] = log_p[sure], 0.0


def _by_cells(
    model: Model, thetas: Floats, values: Floats, result: Floats, cut: Floats, care: tuple[int, int, float]
) -> None:
    """Put what so many cells say where a rounded mean has not been inverted, if that is at few θ."""
    cells, most, allowed = care
    lost = _lost(result, cut)
    rows = np.flatnonzero(np.any(lost, axis=1))
    if not 0 < rows.size <= most:
        return
    for row, (low, high) in zip(rows, rounded.ends_of(model, thetas[rows]), strict=True):
        log_p, error = rounded_sums.log_likelihood(model, thetas[row], (low, high), values[lost[row]], cells)
        sure = error < allowed
        result[row, np.flatnonzero(lost[row])[sure]], cut[row, np.flatnonzero(lost[row])[sure]] = log_p[sure], 0.0


def _lost(log_prob: Floats, cut: Floats) -> NDArray[np.bool_]:
    """Where too much may have been cut off, unless p is negligible beside its largest sure value even with that."""
    sure = cut < CUT
    best = np.max(np.where(sure, log_prob, -np.inf), axis=0, keepdims=True)
    with np.errstate(invalid="ignore"):
        most = np.where(np.isfinite(cut), log_prob + np.log1p(cut), np.inf)
    return ~sure & ~(most < best + math.log(CUT))


def _require_decay(model: Model, values: Floats, log_prob: Floats, cut: Floats) -> None:
    """Refuse where what was cut off matters: at a θ whose likelihood is not negligible beside that of the best."""
    lost = np.any(_lost(log_prob, cut) & ~np.isnan(log_prob), axis=0)
    if np.any(lost):
        raise AccuracyError(
            f"the transform of {model.channel.statistic} with n = {model.channel.n} does not decay fast enough to be "
            f"inverted to {SETTLED_SLOWLY:g} at y = {values[np.argmax(lost)]:g} (few records, a continuous law with "
            "atoms, and Laplace noise; or a value far from all that theta explains); use latent methods (infer with "
            "method='mhaar'), or route 'normal' for an approximation"
        )


def _decide(group: Group, lost: NDArray[np.bool_], values: Floats, result: Floats, cut: Floats) -> None:
    """Put log p and its error at the θ and values of the pairs that are lost where they belong."""
    rows = group.index[np.any(lost, axis=1)]
    columns = np.flatnonzero(np.any(lost, axis=0))
    y = np.broadcast_to(values[columns], (len(rows), len(columns)))
    thetas = group.thetas[np.any(lost, axis=1)]
    result[np.ix_(rows, columns)], cut[np.ix_(rows, columns)] = invert_slowly(group, thetas, y)


def _one_by_one(group: Group, thetas: Floats, values: Floats) -> tuple[Floats, Floats]:
    """log p and cut-off, with two steps of the frequency at each θ instead of a check of its group."""
    each = np.broadcast_to(values, (len(thetas), len(values)))
    log_prob, error, _ = at_once.invert_at_once(group, thetas, each, scores=False)
    return log_prob, np.where(error < SETTLED, 0.0, error)


def _at_values(group: Group, thetas: Floats, values: Floats) -> tuple[Floats, Floats]:
    """log p and cut-off at all θ and values: many values share contours, but one by one where that costs digits."""
    inversion = group.inversion
    each = np.broadcast_to(values, (len(thetas), len(values)))
    if len(values) < shared_contours.FEWEST or not shared_contours.serve(inversion):
        return in_blocks(group, inversion, thetas, each)
    log_prob, cut, rounding = shared_contours.in_runs(inversion, group.law, thetas, values, group.spread)
    spoilt = np.any(rounding > SETTLED, axis=1)
    if np.any(spoilt):
        log_prob[spoilt], cut[spoilt] = in_blocks(group, inversion, thetas[spoilt], each[spoilt])
    return log_prob, cut
