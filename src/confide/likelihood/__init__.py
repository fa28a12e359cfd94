"""Routes to p(y | θ): what a published number says about the population."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from confide import registry
from confide.errors import ApproximationWarning, IncompatibleError, InvalidArgument
from confide.likelihood.cells.route import Cells
from confide.likelihood.local.records import PerRecord
from confide.likelihood.local.response import Response
from confide.likelihood.mean.normal import Normal
from confide.likelihood.mean.share import Share
from confide.likelihood.mean.spectral import Spectral
from confide.likelihood.rank.order import Order
from confide.likelihood.rank.pool import Pool
from confide.likelihood.record_law.rows.points import why_not_exact
from confide.likelihood.route import Route
from confide.likelihood.score_integral import Told
from confide.likelihood.totals.alone import OverNumbers
from confide.likelihood.totals.public import Scaled, as_mean

if TYPE_CHECKING:
    from confide.model import Model

__all__ = [
    "ROUTES",
    "Cells",
    "Normal",
    "Order",
    "PerRecord",
    "Pool",
    "Response",
    "Route",
    "Share",
    "Spectral",
    "Told",
    "as_route",
    "choose_aloud",
    "choose_route",
    "stand_in",
]

#: In the order in which `auto` asks them: exact ones first, then Monte Carlo of known error, then the approximation.
ROUTES: dict[str, Route] = {name: globals()[kind]() for name, kind in registry.ROUTES.items()}


def as_route(route: str | Route) -> Route | None:
    """The route that is meant by a name or an object; None for "auto"."""
    if isinstance(route, Route):
        return route
    if route == "auto":
        return None
    if not isinstance(route, str) or route not in ROUTES:
        remedy = f"use 'auto', one of {', '.join(ROUTES)}, or a route such as Spectral()"
        raise InvalidArgument("route", route, "is not a route", remedy)
    return ROUTES[route]


def choose_route(model: Model, route: str | Route = "auto") -> Route:
    """The route that is asked for, or the first that serves; an error that says why none does."""
    if model.channel.n is None:
        asked = as_route(route)
        only = asked if isinstance(asked, OverNumbers) else OverNumbers()
        reason = f"route {asked.name!r} needs a public one" if asked not in (None, only) else only.refuses(model)
        if reason is not None:
            raise IncompatibleError(f"{model.channel!r} has a private number of records: {reason}")
        return only
    if model.channel.statistic.totals:
        return Scaled(choose_route(as_mean(model), route))
    asked = as_route(route)
    if asked is not None:
        reason = _refuses(asked, model)
        if reason is not None:
            raise IncompatibleError(f"route {asked.name!r} does not serve this model: {reason}")
        return asked
    if type(model.channel.statistic).__module__.partition(".")[0] != "confide":
        raise IncompatibleError(
            f"{model.channel.statistic} is a statistic of your own, of which nobody knows p(y | theta); `infer` "
            "samples its records (method='mhaar'), `information` simulates data sets (method='replicates'), and a "
            "route of your own, route=MyRoute(), serves everything else"
        )
    reasons = {}
    for candidate in ROUTES.values():
        reason = _refuses(candidate, model)
        if reason is None:
            return candidate
        reasons[candidate.name] = reason
    listed = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    raise IncompatibleError(f"no route to p(y | theta) serves this model ({listed})")


def _refuses(route: Route, model: Model) -> str | None:
    """Why a route does not serve a model, in words; None if it does."""
    if model.population.rows is not None and not route.of_rows:
        return f"{route.name} is for records of one number, not for rows"
    return route.refuses(model)


def choose_aloud(model: Model, route: str | Route, stacklevel: int) -> Route:
    """The same, but an approximation that nobody asked for is not taken without a warning."""
    chosen = choose_route(model, route)
    if as_route(route) is not None:
        return chosen
    words = why_not_exact(model.population, model.channel.statistic)
    if words is not None:
        words = f"{words}; route={chosen.name!r} takes that without a warning"
    if chosen.approximate:
        words = "this is the normal approximation, whose error is not known; ask for it by route='normal', or use infer"
    if words is not None:
        told = f"no exact route serves {model.channel.statistic} under {model.channel.mechanism}: {words}"
        warnings.warn(told, ApproximationWarning, stacklevel=stacklevel + 1)
    return chosen


def stand_in(route: Route, model: Model) -> Route | None:
    """The route that serves where this one works hard or gives up; None where there is none."""
    other = None if route.falls_back_to is None else ROUTES[route.falls_back_to]
    return other if other is not None and _refuses(other, model) is None else None
