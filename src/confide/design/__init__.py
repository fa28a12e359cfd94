"""Choosing what to release: nothing here can read records."""

from confide.design import families
from confide.design.compare import compare
from confide.design.comparison import Comparison
from confide.design.family import Family, MeanFamily
from confide.design.optimize import optimize
from confide.design.optimum import Optimum
from confide.design.pilot import Pilot, pilot
from confide.design.study import Study, study

__all__ = [
    "Comparison",
    "Family",
    "MeanFamily",
    "Optimum",
    "Pilot",
    "Study",
    "compare",
    "families",
    "optimize",
    "pilot",
    "study",
]
