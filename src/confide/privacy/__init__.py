"""Privacy guarantees: what each promises, how one follows from another, and how several add up."""

from confide.privacy.accounting import account
from confide.privacy.composition import compose
from confide.privacy.guarantee import GDP, ZCDP, ApproxDP, Privacy, PureDP, Unlimited

__all__ = ["Privacy", "PureDP", "ApproxDP", "ZCDP", "GDP", "Unlimited", "account", "compose"]
