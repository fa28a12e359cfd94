"""log p(y): what a model of the population makes of all that was published, before θ is known.

At any θ, p(y) = p(θ, y)/p(θ | y): one point of a posterior that was integrated tells it. The integral is made anew,
more carefully than moments need it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from confide._precision import float64
from confide.errors import IncompatibleError
from confide.inference.problem import Problem, read
from confide.inference.quadrature import line, plane
from confide.inference.quadrature.fallback import Careful
from confide.inference.quadrature.grid import log_density, narrowed
from confide.inference.sampling.separate import separated
from confide.likelihood import Route
from confide.likelihood.joint import joint_over_numbers, joint_route

if TYPE_CHECKING:
    from confide.posterior import Posterior

#: moments that stand still to so much are an integral that does to 1e-9; e^{−36} is 2e-16
_LINE = line.Care(points=252, tolerance=1e-7, negligible=36.0)
_PLANE = line.Care(points=128, tolerance=1e-7, negligible=34.0)


@float64
def log_evidence(posterior: Posterior) -> float:
    """log ∫ p(y | θ) π(θ) dθ of the call that made a posterior of one or two parameters."""
    if posterior.call is None:
        raise IncompatibleError(
            "the evidence is told of what infer returned, and this posterior does not know its call"
        )
    given = posterior.call.arguments
    problem = read(
        given["population"], given["releases"], given["prior"], given.get("same_records"), given.get("same_quantity")
    )
    route = given.get("route", "auto")
    parts = [part.problem for part in separated(problem)] or [problem]
    return sum(_of_one(part, route) for part in parts if part.models)


def _of_one(problem: Problem, route: str | Route) -> float:
    """Of what is tied together."""
    if problem.prior.free_dimension > 2:
        raise IncompatibleError(
            f"the evidence is an integral over one or two parameters, and this posterior has "
            f"{problem.prior.free_dimension}; compare populations with fewer"
        )
    if problem.number is None:
        joint = joint_route(problem.models, route, problem.same_records, problem.processed)
    elif not problem.number.proper:
        raise IncompatibleError('a flat prior of n has no evidence; give a proper one, as in "n": dist.Poisson(200.0)')
    else:
        joint = joint_over_numbers(problem.models, problem.values, problem.number, problem.same_records)
    careful = Careful(joint)
    evaluate = partial(log_density, careful, problem.values, problem.prior)
    low, high = line.reach(problem.prior)
    if problem.prior.free_dimension == 1:
        low, high = narrowed(careful, problem.values, problem.prior, low, high, _LINE)
        found = line.integrate(lambda free: evaluate(free[:, None]), float(low[0]), float(high[0]), _LINE)
        most = int(np.argmax(found.density))
        return float(evaluate(found.free[most : most + 1, None])[0] - np.log(found.density[most]))
    flat = plane.integrate(evaluate, low, high, _PLANE)
    outer, inner = flat.lines.outer, flat.inner
    most = int(np.argmax(flat.share))
    cell = (outer[1] - outer[0]) * (inner[most // inner.shape[1], 1] - inner[most // inner.shape[1], 0])
    return float(evaluate(flat.free[most : most + 1])[0] - np.log(flat.share.flat[most] / cell))
