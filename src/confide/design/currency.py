"""Channels are compared at equal guarantees; where they are not equal, in one currency."""

from __future__ import annotations

import math
from collections.abc import Mapping

from confide.errors import PrivacyError
from confide.model import Model
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP, Unlimited

#: the parameter by which each kind is told, strongest kind first
PARAMETERS: dict[type[Privacy], str] = {PureDP: "epsilon", GDP: "mu", ZCDP: "rho"}
_DELTA = 1e-6


def equal(a: Privacy, b: Privacy) -> bool:
    """Whether two guarantees promise the same."""
    return a.implies(b) and b.implies(a)


def require_equal(models: Mapping[str, Model]) -> None:
    """Refuse channels with different guarantees: more information is no merit if it was paid for with privacy."""
    (first, model), *others = models.items()
    for name, other in others:
        if not equal(model.channel.guarantee, other.channel.guarantee):
            raise PrivacyError(
                "models",
                {first: model.channel.guarantee, name: other.channel.guarantee},
                "have different guarantees, so their information cannot be ranked",
                "give all channels one guarantee, or pass unequal=True to see the cost of each beside it",
            )


def costs(guarantees: list[Privacy], delta: float | None) -> tuple[str, list[float]]:
    """What each guarantee costs in the strongest unit that all of them can be told in: its name, and the numbers."""
    finite = [each for each in guarantees if not isinstance(each, Unlimited)]
    if delta is None:
        for kind, parameter in PARAMETERS.items():
            try:
                told = iter([float(getattr(each.convert(kind), parameter)) for each in finite])
            except PrivacyError:
                continue
            return f"{parameter} ({kind.__name__})", [
                math.inf if isinstance(each, Unlimited) else next(told) for each in guarantees
            ]
    known = [each.delta for each in finite if isinstance(each, ApproxDP)]
    delta = delta if delta is not None else max(known, default=_DELTA)
    return f"epsilon at delta={delta:g}", [each.epsilon_at(delta) for each in guarantees]
