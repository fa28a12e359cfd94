"""What y tells about θ by the spectral route: the score by differentiating the inversion.

Panels in y are halved until p, and p times the square of each score, is the polynomial through its nodes (`y_rules`);
on a lattice the points of y are taken one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError
from confide.likelihood.inversion.atoms import atom_values, nearest_atom, ways
from confide.likelihood.inversion.frequencies import Group, plan, tilt_of
from confide.likelihood.mean import told_by_masses
from confide.likelihood.mean.at_once import invert_at_once, serves
from confide.likelihood.mean.y_rules import (
    FRACTIONS,
    ToldOnPanels,
    lattice_rule,
    narrowed,
    panel_edges,
    panel_nodes,
    reach,
    short_lattice_rule,
    stretched,
)
from confide.likelihood.noise.channel import lattice_period, noise_step
from confide.likelihood.noise.lattice import lattice_spacing
from confide.likelihood.record_law.moments import law_for, moments_at, nodes_at
from confide.likelihood.record_law.record import ORDER
from confide.likelihood.score_integral import Tells, certain
from confide.likelihood.slow_inversion.pairs import SETTLED, invert_slowly_with_score
from confide.likelihood.slow_inversion.sums import sums_at

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

#: how far the noise goes beyond the records, in its scales
_NOISE = 10.0
#: with fewer records outside of atoms the density of y has lumps as narrow as the noise
_FEW = 40.0
#: how well each panel in y is resolved, relative to the whole, in how many rounds, and how many there may be
_RESOLVED, _ROUNDS, _MOST_PANELS = 1e-7, 20, 3000
#: what may be left of that in all
_UNRESOLVED = 1e-5
#: information below this share of what n records could tell is rounding
_ROUNDING = 1e-10
_CUT = 1e-9
#: points that the law of a sum is told by, and the share of the largest mass that is nothing
_SHORT, _UNSEEN = 2**18, 1e-15
#: scales of the noise, in distances of points, from which many points may be made fewer
_LUMPED = 100.0
#: the spread of a mean times the scale of Laplace noise, in squares of a lattice's spacing, above which y does not
#: notice the lattice: its share in the information is a tenth of the inverse at most, before that cancels
_UNNOTICED = 1e6
#: kinks of the density of y at which panels are cut
_MOST_KINKS = 300


def told(model: Model, thetas: Floats) -> Sequence[Iterable[Tells]]:
    """What y tells at each θ of (M, d)."""
    known = _by_masses(model, thetas)
    if known is not None:
        return known
    result: list[Iterable[Tells]] = [certain(thetas.shape[1])] * len(thetas)
    places = np.flatnonzero(_varies(model, thetas))
    # both ways check their frequencies by themselves
    for group in plan(model, thetas[places], checked=False) if places.size else ():
        index = places[group.index]
        quick = serves(group.inversion.transform) and not group.slow
        for scores in (invert_at_once, invert_slowly_with_score) if quick else (invert_slowly_with_score,):
            if index.size:
                found, sure = _settled_at(model, group, thetas[index], scores)
                for place in np.flatnonzero(sure):
                    result[index[place]] = [found[place]]
                index = index[~sure]
        if index.size:
            raise AccuracyError(
                f"the transform of {model.channel.statistic} with n = {model.channel.n} decays too slowly to be "
                "inverted; use method='replicates', or 'normal' for an approximation"
            )
    return result


Scores = Callable[[Group, Floats, Floats], tuple[Floats, Floats, Floats]]


def _by_masses(model: Model, thetas: Floats) -> list[Iterable[Tells]] | None:
    """The same of a statistic on a short lattice, where no transform is needed; None for others."""
    if lattice_spacing(model.population, model.channel.statistic) is None:
        return None
    found: list[Iterable[Tells]] = [certain(thetas.shape[1])] * len(thetas)
    noise = float(model.channel.law.noise.scale)  # type: ignore[attr-defined]
    for group in plan(model, thetas, checked=False):
        step = noise_step(group.inversion.transform)
        for row, law in zip(group.index, sums_at(group, group.thetas), strict=True):
            if law is None:
                return None
            # what a fast transform leaves of masses that are nothing is nothing
            law_seen = law.masses[0] > _UNSEEN * law.masses[0].max()
            if np.count_nonzero(law_seen) == 1:  # of what cannot be otherwise nothing is learnt, however slopes round
                continue
            held = slice(int(np.argmax(law_seen)), law_seen.size - int(np.argmax(law_seen[::-1])))
            masses = np.where(law_seen, law.masses, 0.0)[:, held]
            u, lump = law.u[held], -(-masses.shape[1] // _SHORT)
            if lump > 1 and (step > 0 or noise < _LUMPED * lump * (u[1] - u[0])):
                return None
            if step > 0 and (u[-1] - u[0]) / step > _SHORT:
                return None
            found[row] = told_by_masses.told(model, *told_by_masses.lumped(u, masses, lump))
    return found


def _varies(model: Model, thetas: Floats) -> NDArray[np.bool_]:
    """At which θ a record's s takes more than one value. Of an event that cannot happen nothing is learnt."""
    law = law_for(model.population, model.channel.statistic, thetas, *tilt_of(model))
    nodes = nodes_at(law, thetas)
    s, seen = np.broadcast_arrays(nodes.s, nodes.weights > 0)
    return np.asarray(np.where(seen, s, -np.inf).max(axis=1) > np.where(seen, s, np.inf).min(axis=1))


def _settled_at(
    model: Model, group: Group, thetas: Floats, scores: Scores
) -> tuple[list[ToldOnPanels], NDArray[np.bool_]]:
    """What y tells at each θ, and where the inversion has reached its accuracy."""
    slowly = scores is invert_slowly_with_score
    accuracy, found = SETTLED if slowly else _CUT, []
    for theta, told in zip(thetas, _told(group, thetas, scores, *_y_rule(group, thetas, atoms=slowly)), strict=True):
        on_panels = told.weight.shape[1] == ORDER and told.sure(accuracy)
        found.append(_settled(model, group, theta, told, scores) if on_panels else told)
    return found, np.asarray([told.sure(accuracy) for told in found])


def _told(group: Group, thetas: Floats, scores: Scores, y: Floats, weight: Floats) -> list[ToldOnPanels]:
    """What values y (θ, panels, nodes) tell at each θ."""
    log_prob, error, score = scores(group, thetas, y.reshape(len(thetas), -1))
    shapes = (part.reshape(y.shape) for part in (log_prob, error))
    return [ToldOnPanels(*parts) for parts in zip(y, weight, *shapes, score.reshape(*y.shape, -1), strict=True)]


def _settled(model: Model, group: Group, theta: Floats, told: ToldOnPanels, scores: Scores) -> ToldOnPanels:
    """Panels halved until each is resolved; information of rounding errors is not information."""
    least = np.zeros(1 + theta.size)
    for _ in range(_ROUNDS):
        rough = told.rough(least) > _RESOLVED
        if np.any(rough) and not np.any(least):  # what is asked for seldom
            slopes = np.asarray(group.slopes(theta[None]).weights)[0]
            least = np.append(1.0, _ROUNDING * group.inversion.n * np.abs(slopes).sum(axis=1) ** 2)
            rough = told.rough(least) > _RESOLVED
        if not np.any(rough) or np.count_nonzero(rough) + len(rough) > _MOST_PANELS:
            break
        half = 0.5 * told.weight[rough].sum(axis=1)
        middle = told.y[rough].mean(axis=1)
        edges = np.stack([middle - half, middle, middle + half], axis=1)
        y, weight = (part.reshape(1, -1, ORDER) for part in panel_nodes(edges))
        told = told.replaced(rough, _told(group, theta[None], scores, y, weight)[0])
    left = told.rough(least)
    if np.sum(left, where=left > _RESOLVED) > _UNRESOLVED:
        raise AccuracyError(
            f"the information of {model.channel.statistic} with n = {model.channel.n} does not settle: the noise is "
            "too narrow beside what the records leave open; use method='replicates', or 'normal' for an approximation"
        )
    return told


def _moments(group: Group, thetas: Floats) -> tuple[Floats, Floats]:
    mean, covariance = moments_at(group.law, thetas)
    return mean[:, 0], np.sqrt(covariance[:, 0, 0] / group.inversion.n + group.inversion.transform.variance)


def _y_rule(group: Group, thetas: Floats, *, atoms: bool) -> tuple[Floats, Floats]:
    """Nodes and weights in y (θ, panels, 16), with panels that end where all records may sit in atoms if asked for.

    On a lattice all points are one panel.
    """
    mean, spread = _moments(group, thetas)
    transform, reference = group.inversion.transform, group.inversion.reference
    scale = 0.0 if np.isinf(transform.pole) else 1.0 / float(transform.pole)
    step, period = noise_step(transform), lattice_period(transform)
    # with a scale, the spread is that of the mean alone
    if step == 0 and scale * spread.min() > _UNNOTICED * period**2:
        period = 0.0
    if step > 0:
        start = step * np.round(reference / step)
        rule = lattice_rule(mean, spread, scale, step, start, None)
    elif period > 0:
        rule = lattice_rule(mean, spread, scale, period, reference, transform.scale)  # type: ignore[attr-defined]
        ends = group.model.channel.statistic.ranges[0]
        if scale > 0 and (ends[1] - ends[0]) / period * FRACTIONS < rule[0].shape[1]:
            short = short_lattice_rule(ends, scale, period, reference)
            rule = tuple(np.broadcast_to(part, (len(thetas), part.size)) for part in short)  # type: ignore[assignment]
    else:
        edges = _followed(group, thetas, panel_edges(mean, spread, scale))
        rule = panel_nodes(np.sort(np.concatenate([edges, _kinks(group, edges)], axis=1), axis=1) if atoms else edges)
        return tuple(part.reshape(len(thetas), -1, ORDER) for part in rule)  # type: ignore[return-value]
    return rule[0][:, None], rule[1][:, None]


def _followed(group: Group, thetas: Floats, edges: Floats) -> Floats:
    """Rows of edges that go as far as the mean of the records does, narrow where that comes in lumps."""
    n, noise = group.inversion.n, float(group.model.channel.law.noise.scale)  # type: ignore[attr-defined]
    nodes = group.nodes(thetas)
    s, weights = nodes.s, nodes.weights
    low, high = reach(s, weights, n).T
    mean = np.sum(weights * s, axis=1)
    edges = stretched(edges, mean - low - _NOISE * noise, mean + high + _NOISE * noise)
    atoms = atom_values(group.model.population, group.model.channel.statistic)
    outside = np.sum(np.where(nearest_atom(s, atoms) < 0, weights, 0.0), axis=1)
    return narrowed(edges, noise) if n * outside.min() < _FEW else edges


def _kinks(group: Group, edges: Floats) -> Floats:
    """Means of n records that all sit in atoms, with the ends of each row of panels in place of those outside."""
    values = atom_values(group.model.population, group.model.channel.statistic)
    n = group.model.channel.n
    if values.size < 2 or math.comb(n + values.size - 1, n) > _MOST_KINKS:
        values = values[[0, -1]]
    if math.comb(n + values.size - 1, n) > _MOST_KINKS:
        return edges[:, :0]
    kinks = np.unique(ways(n, values.size).counts @ values / n)
    return np.clip(kinks[None, :], edges[:, :1], edges[:, -1:])
