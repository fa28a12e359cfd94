"""Routes to p(y | θ): what a published number says about the population."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.errors import IncompatibleError, InvalidArgument
from confide.likelihood.local.records import RecordsRoute
from confide.likelihood.local.response import ResponseRoute
from confide.likelihood.mean.normal import NormalRoute
from confide.likelihood.mean.share import ShareRoute
from confide.likelihood.mean.spectral import SpectralRoute
from confide.likelihood.rank.order import OrderRoute
from confide.likelihood.rank.pool import PoolRoute
from confide.likelihood.route import Route

if TYPE_CHECKING:
    from confide.model import Model

__all__ = ["ROUTES", "Route", "choose_route"]

#: In the order in which `auto` asks them: exact ones first, then Monte Carlo of known error, then the approximation.
ROUTES: dict[str, Route] = {
    route.name: route
    for route in (
        ResponseRoute(),
        RecordsRoute(),
        ShareRoute(),
        SpectralRoute(),
        OrderRoute(),
        PoolRoute(),
        NormalRoute(),
    )
}


def choose_route(model: Model, route: str = "auto") -> Route:
    """The route of a given name, or the first that serves; an error that says why none does."""
    if route != "auto":
        if route not in ROUTES:
            raise InvalidArgument("route", route, "is not a route", f"use 'auto' or one of {', '.join(ROUTES)}")
        reason = ROUTES[route].refuses(model)
        if reason is not None:
            raise IncompatibleError(f"route {route!r} does not serve this model: {reason}")
        return ROUTES[route]
    reasons = {}
    for candidate in ROUTES.values():
        reason = candidate.refuses(model)
        if reason is None:
            return candidate
        reasons[candidate.name] = reason
    listed = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    raise IncompatibleError(f"no route to p(y | theta) serves this model ({listed})")
