"""Choosing what to release: nothing here can read records."""

from confide.design import families
from confide.design.comparing import compare
from confide.design.comparison import Comparison
from confide.design.family import Family, MeanFamily
from confide.design.optimizing import optimize
from confide.design.optimum import Optimum
from confide.design.piloting import Pilot, pilot
from confide.design.studying import Study, study

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
