"""Privacy guarantees: what each promises, how one follows from another, and how several add up."""

import typing

from confide._lazy import lazily
from confide.privacy.composition import compose
from confide.privacy.guarantee import GDP, ZCDP, ApproxDP, Privacy, PureDP, Unlimited

if typing.TYPE_CHECKING:
    from confide.privacy.accounting import account

__all__ = ["Privacy", "PureDP", "ApproxDP", "ZCDP", "GDP", "Unlimited", "account", "compose"]

__getattr__ = lazily(__name__, {"accounting": ("account",)})
