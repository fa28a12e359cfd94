"""`grid`: the posterior of one or two parameters by quadrature; the draws are independent."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError, IncompatibleError, InvalidArgument
from confide.inference.diagnostics import independent
from confide.inference.problem import Problem
from confide.inference.quadrature import levels, line, plane
from confide.inference.quadrature.corrected import corrected
from confide.inference.quadrature.fallback import Careful, Rough
from confide.likelihood.batched import filled
from confide.likelihood.joint_law import Joint
from confide.posterior import Exact, Posterior
from confide.prior import Prior, at_free

Floats = NDArray[np.float64]

#: where the likelihood is an average over simulated windows, whose own error is larger
COSTLY = line.Care(points=48, tolerance=3e-3, negligible=14.0)
COSTLY_PLANE = COSTLY._replace(points=24)
#: with that much of the sd left uncertain, no more windows are asked for; and what half the points may differ by
_ENOUGH, _KINKED = 1e-3, 1e-2
#: points of a prior each way
_FINE = 256
#: how close to the end of a prior on an interval mass counts as piled up there, and how much of it
_EDGE = 0.005
_PILED = 0.05
#: a density that is rare, as a share of the largest; by how much rare places may raise the variance unsaid
_RARE, _SPREAD = 1e-6, 1.05
#: how many times as far as its draws the density of a prior may reach, to begin with all of it
_REACHING = 4.0
#: θ that differ by less than this share are one
_SAME = 1e-9


@jax.jit
def _constrain(prior: Prior, free: jax.Array) -> jax.Array:
    return prior.constrain(free)


def constrained(prior: Prior, free: Floats) -> Floats:
    """θ from free coordinates, as NumPy."""
    return np.asarray(_constrain(prior, free))


def _theta(prior: Prior, free: Floats) -> Floats:
    """θ (M, d) from free coordinates, (M,) or (M, k), of few shapes."""
    points = free.reshape(len(free), -1)
    return constrained(prior, filled(points))[: len(points)].reshape(len(points), -1)


def uniforms(key: jax.Array, shape: tuple[int, ...]) -> Floats:
    """Uniform numbers decided by a key; by NumPy, as one call does not repay a compiled sampler."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist()).random(shape)


class NoNews:
    """A likelihood that leaves the prior as it is."""

    def log_likelihood(self, thetas: Floats, values: Any) -> Floats:
        """At all θ (M, d)."""
        return np.zeros(len(thetas))


def log_density(joint: Joint | Careful | Rough | NoNews, values: Any, prior: Prior, free: Floats) -> Floats:
    """log p(θ, y) in free coordinates (M, k); −∞ where the prior has none, and there the likelihood is not asked."""
    # a plane asks for any number of points, and each would be a program of its own
    theta, log_prior = (np.asarray(part)[: len(free)] for part in at_free(prior, filled(free)))
    usable = np.isfinite(log_prior) & np.all(np.isfinite(theta), axis=-1)
    if not np.any(usable):
        return np.full(free.shape[0], -np.inf)
    asked, where = distinct(np.where(usable[:, None], theta, theta[np.argmax(usable)]))
    found = np.asarray(joint.log_likelihood(asked, values))[where]
    return np.where(usable, found + log_prior, -np.inf)


def narrowed(
    careful: Careful, values: Any, prior: Prior, low: Floats, high: Floats, care: line.Care
) -> tuple[Floats, Floats]:
    """The ends of a line, brought nearer by an approximation where there is one, or set where the prior has its own.

    Draws of a prior reach less far than its density is followed, and whoever finds out by likelihoods asks for all of
    them anew.
    """

    def located(about: Rough | NoNews) -> tuple[Floats, Floats]:
        density = partial(log_density, about, values, prior)
        given = float(low[0]), float(high[0]), care.points, care.negligible
        ends = line.locate_roughly(lambda free: density(free[:, None]), *given)
        return np.asarray(ends[:1]), np.asarray(ends[1:])

    rough = careful.rough()
    if rough is not None:
        return located(rough)
    first, last = located(NoNews())
    first, last = np.minimum(first, low), np.maximum(last, high)
    # heavy tails reach so far that nothing would be left of the middle
    return (first, last) if (last - first)[0] < _REACHING * (high - low)[0] else (low, high)


def distinct(theta: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """The θ that differ by more than a billionth part, and which of them each is.

    Where a prior ends, most free coordinates are the same θ, at which a likelihood needs to be computed only once.
    """
    if theta.shape[1] > 1:
        return theta, np.arange(len(theta))
    bins = np.sign(theta) * np.round(np.log(np.abs(theta) + 1e-300) / _SAME)
    _, first, where = np.unique(bins[:, 0], return_index=True, return_inverse=True)
    return filled(theta[first]), where


def posterior(problem: Problem, joint: Joint, key: jax.Array, chains: int, draws: int) -> Posterior:
    """The posterior by quadrature, and independent draws from it."""
    k = problem.prior.free_dimension
    if k > 2:
        raise IncompatibleError(
            f"method 'grid' serves one or two parameters, and {problem.population.name} has {k}; use method='nuts'"
        )
    low, high = line.reach(problem.prior)
    if k == 1:
        return _on_line(problem, *_line(problem, joint, low, high), key, (chains, draws))
    careful = Careful(joint)
    care = plane.CARE._replace(tolerance=COSTLY.tolerance) if joint.dear else plane.CARE
    care = COSTLY_PLANE if joint.simulated else care
    return _on_plane(problem, careful, _plane(problem, careful, low, high, care), key, (chains, draws))


def _along(careful: Careful, problem: Problem) -> line.LogDensity:
    """log p(θ, y) on the line of one free coordinate (M,)."""
    return lambda free: log_density(careful, problem.values, problem.prior, free[:, None])


def _line(problem: Problem, joint: Joint, low: Floats, high: Floats) -> tuple[Careful, line.PosteriorLine]:
    """The posterior on a line, by as many simulated windows as it needs, if any."""
    care = COSTLY if joint.simulated else line.Care()
    careful = Careful(joint)
    if joint.simulated:
        look = _along(Careful(joint.for_a_look()), problem)
        ends = line.locate_roughly(look, float(low[0]), float(high[0]), care.points, care.negligible)
    else:
        low, high = narrowed(careful, problem.values, problem.prior, low, high, care)
        ends = float(low[0]), float(high[0])
    # far tails are explained by rare windows, of which a simulation knows too little for them to be followed
    quicker, theta = joint.quicker(), None if joint.simulated else partial(_theta, problem.prior)
    for one in [careful] if quicker is None else [Careful(quicker), careful]:
        # few windows leave small kinks, which the error below counts
        own = care if one is careful else care._replace(tolerance=_KINKED)
        found = line.integrate(_along(one, problem), *ends, own, theta)
        share = found.density / found.density.sum()
        if one is careful:
            break
        if one.simulation_error(constrained(problem.prior, found.free[:, None]), share) < _ENOUGH:
            break
        ends = float(found.free[0]), float(found.free[-1])
    return one, found


def _plane(problem: Problem, careful: Careful, low: Floats, high: Floats, care: line.Care) -> plane.Plane:
    """The posterior on a plane, by an approximation and what the exact one differs by, where there is one."""
    evaluate, theta = partial(log_density, careful, problem.values, problem.prior), partial(_theta, problem.prior)
    followed = None if careful.joint.simulated else theta
    rough: Rough | NoNews | None = careful.rough()
    begin = care
    if rough is None and careful.joint.dear:
        # what such a release says may have a kink, and points of a prior cost nothing
        rough, begin = NoNews(), care._replace(points=_FINE)
    if rough is not None:
        roughly = partial(log_density, rough, problem.values, problem.prior)
        try:
            found = corrected(
                plane.integrate(roughly, low, high, begin, followed), roughly, evaluate, care.tolerance, theta
            )
        except (AccuracyError, InvalidArgument):
            found = None
        if found is not None:
            return found
    return plane.integrate(evaluate, low, high, care, followed)


def _on_line(
    problem: Problem, joint: Careful, found: line.PosteriorLine, key: jax.Array, shape: tuple[int, int]
) -> Posterior:
    prior, (name,) = problem.prior, problem.population.names
    fine, density, cumulative = levels.distribution(found)
    drawn = levels.invert(uniforms(key, shape), fine, density, cumulative)
    parts = np.cumsum([drawn.size, found.free.size])
    theta, nodes, table = np.split(
        constrained(prior, np.concatenate([drawn.ravel(), found.free, fine])[:, None]), parts
    )
    share = found.density / found.density.sum()
    mean = share @ nodes
    sd = np.sqrt(share @ (nodes - mean) ** 2)
    names = prior.by_name(theta.reshape(*shape, -1))
    if table.shape[-1] == 1:
        slope = np.gradient(table[:, 0], fine)
        with np.errstate(divide="ignore", invalid="ignore"):
            on_theta = np.where(slope > 0, density / slope, 0.0)
        exact = Exact({name: float(mean[0])}, {name: float(sd[0])}, table[:, 0], on_theta, cumulative)
    else:
        exact = Exact(prior.by_name(mean), prior.by_name(sd))
    notes = [*_edges(prior, nodes, share), *_open_tails(nodes, share), *joint.notes(prior.names, nodes, share)]
    return Posterior(names, "grid", joint.name, independent(names, notes), prior, exact)


def _open_tails(nodes: Floats, share: Floats) -> list[str]:
    """Says so if the standard deviation comes from places of hardly any probability: it may then be infinite."""
    core = share > _RARE * np.max(share)
    mean, within = share @ nodes, share[core] / share[core].sum()
    inner = within @ (nodes[core] - within @ nodes[core]) ** 2
    if np.all(share @ (nodes - mean) ** 2 < _SPREAD * inner):
        return []
    return [
        f"the standard deviation comes from far tails of probability {share[~core].sum():.1g}, which the prior leaves "
        "open and the release does not rule out; it may be infinite: quote quantiles, or use a prior with lighter tails"
    ]


def _edges(prior: Prior, nodes: Floats, share: Floats) -> list[str]:
    """Says so by name if the mass piles up where a prior on an interval ends."""
    support = prior.parts[0].support
    ends = [getattr(support, side, None) for side in ("lower_bound", "upper_bound")]
    if any(end is None or np.ndim(end) for end in ends):
        return []
    low, high = (float(end) for end in ends)  # type: ignore[arg-type]
    notes = []
    for side, end in (("lower", low), ("upper", high)):
        mass = float(share[np.abs(nodes[:, 0] - end) < _EDGE * (high - low)].sum())
        if mass > _PILED:
            notes.append(
                f"{100 * mass:.0f}% of the posterior of {prior.names[0]} lies at the {side} edge {end:g} of the prior: "
                "the prior, not the release, decides there"
            )
    return notes


def _on_plane(
    problem: Problem, joint: Careful, found: plane.Plane, key: jax.Array, shape: tuple[int, int]
) -> Posterior:
    prior = problem.prior
    theta = constrained(prior, levels.PlaneLevels.of(found).free(*uniforms(key, (2, *shape))))
    nodes, share = constrained(prior, found.free), found.share.ravel()
    mean = share @ nodes
    sd = np.sqrt(share @ (nodes - mean) ** 2)
    names = prior.by_name(theta)
    means = {name: _plain(part) for name, part in prior.by_name(mean).items()}
    sds = {name: _plain(part) for name, part in prior.by_name(sd).items()}
    notes = [*_open_tails(nodes, share), *joint.notes(prior.names, nodes, share)]
    return Posterior(names, "grid", joint.name, independent(names, notes), prior, Exact(means, sds))


def _plain(part: Any) -> Any:
    return float(part) if np.ndim(part) == 0 else part
