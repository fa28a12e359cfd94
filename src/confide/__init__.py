"""Confide: differentially private Bayesian estimation.

A sensitive data set, one noisy number published from it, and two questions: which statistic should be published, and
what does the published number say about the population?
"""

import importlib
import typing

from confide import datasets, populations
from confide.channel import Channel
from confide.design import Comparison, Family, Optimum, Pilot, Study, compare, families, optimize, pilot, study
from confide.errors import (
    AccuracyError,
    ApproximationWarning,
    ConfideError,
    ConfideWarning,
    ExpressionError,
    ImputationWarning,
    IncompatibleError,
    InvalidArgument,
    NoiseWarning,
    ParameterError,
    PrivacyError,
    RangeError,
)
from confide.expression import Expression
from confide.inference import Calibration, Walk, infer, sbc
from confide.information import Information, information
from confide.mechanism import (
    Exponential,
    Gaussian,
    Laplace,
    Law,
    Mechanism,
    Noiseless,
    RandomizedResponse,
    SmoothCauchy,
    SmoothLaplace,
)
from confide.model import Model
from confide.population import Population
from confide.posterior import Posterior
from confide.prior import Prior
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP, Unlimited, account, compose
from confide.statistic import Each, Maximum, Mean, Median, Minimum, Quantile, Statistic

if typing.TYPE_CHECKING:
    from confide.published import BudgetError, DataError, FileError, Hashed, LedgerError, Release, Rows, verify
    from confide.releasing import Audit, Ledger, audit, release
    from confide.reporting import report

__all__ = [
    "AccuracyError",
    "ApproxDP",
    "ApproximationWarning",
    "Audit",
    "BudgetError",
    "Calibration",
    "Channel",
    "Comparison",
    "ConfideError",
    "ConfideWarning",
    "DataError",
    "Each",
    "Exponential",
    "Expression",
    "ExpressionError",
    "Family",
    "FileError",
    "GDP",
    "Gaussian",
    "Hashed",
    "ImputationWarning",
    "IncompatibleError",
    "Information",
    "InvalidArgument",
    "Laplace",
    "Law",
    "Ledger",
    "LedgerError",
    "Maximum",
    "Mean",
    "Mechanism",
    "Median",
    "Minimum",
    "Model",
    "NoiseWarning",
    "Noiseless",
    "Optimum",
    "ParameterError",
    "Pilot",
    "Population",
    "Posterior",
    "Prior",
    "Privacy",
    "PrivacyError",
    "PureDP",
    "Quantile",
    "RandomizedResponse",
    "RangeError",
    "Release",
    "Rows",
    "SmoothCauchy",
    "SmoothLaplace",
    "Statistic",
    "Study",
    "Unlimited",
    "Walk",
    "ZCDP",
    "account",
    "audit",
    "compare",
    "compose",
    "datasets",
    "families",
    "infer",
    "information",
    "optimize",
    "pilot",
    "populations",
    "release",
    "report",
    "sbc",
    "study",
    "verify",
]

__version__ = "0.1.0"

#: What publishes, what reads records and what draws is loaded when it is asked for: models and inference never need it.
_LAZY = (
    dict.fromkeys(
        ("BudgetError", "DataError", "FileError", "Hashed", "LedgerError", "Release", "Rows", "verify"),
        "confide.published",
    )
    | dict.fromkeys(("Audit", "Ledger", "audit", "release"), "confide.releasing")
    | {"report": "confide.reporting"}
)


def __getattr__(name: str) -> typing.Any:
    if name == "paper":
        return importlib.import_module("confide.paper")
    if name not in _LAZY:
        raise AttributeError(f"module 'confide' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
