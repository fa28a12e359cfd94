"""Targets: all that a kernel sees of a model. Each file is one choice of what is latent."""

from confide.inference.target.base import Target
from confide.inference.target.each import EachTarget
from confide.inference.target.marginal import MarginalTarget
from confide.inference.target.product import ProductTarget
from confide.inference.target.records import RecordsTarget
from confide.inference.target.statistic import ConditionalTarget, StatisticTarget

__all__ = [
    "ConditionalTarget",
    "EachTarget",
    "MarginalTarget",
    "ProductTarget",
    "RecordsTarget",
    "StatisticTarget",
    "Target",
]
