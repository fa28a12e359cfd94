"""The same channel at another level of privacy."""

from __future__ import annotations

import dataclasses
from typing import Any

from confide.channel import Channel
from confide.design.currency import PARAMETERS
from confide.errors import IncompatibleError
from confide.privacy import ApproxDP, Privacy, Unlimited


def with_privacy(channel: Channel, level: float | Privacy) -> Channel:
    """The same statistic and mechanism at another guarantee: a level of the same kind, or a guarantee."""
    mechanism: Any = channel.mechanism
    changeable = dataclasses.is_dataclass(mechanism) and any(f.name == "privacy" for f in dataclasses.fields(mechanism))
    if not changeable or mechanism.privacy is None:
        raise IncompatibleError(f"{mechanism!r} has no guarantee to change; give it one instead of a scale")
    if isinstance(level, Privacy):
        privacy = level
    elif isinstance(mechanism.privacy, ApproxDP):
        privacy = ApproxDP(level, mechanism.privacy.delta)
    else:
        privacy = type(mechanism.privacy)(level)
    return Channel(channel.statistic, dataclasses.replace(mechanism, privacy=privacy), channel.n)


def level_of(privacy: Privacy) -> float:
    """The number that a guarantee is told by: ε, μ or ρ; infinite for none."""
    if isinstance(privacy, Unlimited):
        return float("inf")
    return float(getattr(privacy, unit_of(privacy)))


def unit_of(privacy: Privacy) -> str:
    """The name of that number."""
    return "epsilon" if isinstance(privacy, ApproxDP | Unlimited) else PARAMETERS[type(privacy)]
