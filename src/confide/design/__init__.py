"""Choosing what to release: nothing here can read records."""

from confide.design import families
from confide.design.adaptive.bracketing import Bracket, bracket
from confide.design.adaptive.plan import Adaptive
from confide.design.adaptive.verb import adapt
from confide.design.comparing.comparison import Comparison
from confide.design.comparing.verb import compare
from confide.design.optimizing import optimize
from confide.design.optimum import Optimum
from confide.design.search.family import Family, MeanFamily
from confide.design.studies.piloting import Pilot, pilot
from confide.design.studies.ratio import ClassicalRatio
from confide.design.studies.requiring import Requirement, require
from confide.design.studies.studying import Study, study

__all__ = [
    "Adaptive",
    "Bracket",
    "ClassicalRatio",
    "Comparison",
    "Family",
    "MeanFamily",
    "Optimum",
    "Pilot",
    "Requirement",
    "Study",
    "adapt",
    "bracket",
    "compare",
    "families",
    "optimize",
    "pilot",
    "require",
    "study",
]
