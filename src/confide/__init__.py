"""Confide: differentially private Bayesian estimation.

A sensitive data set, one noisy number published from it, and two questions: which statistic should be published, and
what does the published number say about the population?
"""

import importlib
import sys
import types
import typing

from confide import registry

if typing.TYPE_CHECKING:
    from confide import datasets, populations
    from confide.channel import Channel
    from confide.contrasting import Contrast, contrast
    from confide.denoising import CountTable, TrueCounts, denoise, published_counts
    from confide.design import (
        Adaptive,
        Bracket,
        ClassicalRatio,
        Comparison,
        Family,
        Optimum,
        Pilot,
        Requirement,
        Study,
        adapt,
        bracket,
        compare,
        families,
        optimize,
        pilot,
        require,
        study,
    )
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
    from confide.frequentist import Estimate, EstimateContrast, estimate
    from confide.inference import Walk, infer
    from confide.inference.method import Method
    from confide.inference.methods import MH, MHAAR, NUTS, PMMH, Correlated, Gibbs, Grid, OwnKernel
    from confide.inference.sbc import Calibration, sbc
    from confide.information import Information, information
    from confide.likelihood import Cells, Normal, Order, PerRecord, Pool, Response, Route, Share, Spectral
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
    from confide.processing import Clamped, Rounded, Suppressed
    from confide.published import BudgetError, DataError, FileError, Hashed, LedgerError, Release, Rows, Statement
    from confide.published.verify import verify
    from confide.releasing import Audit, Ledger, audit, release
    from confide.reporting import report
    from confide.statistic import (
        Count,
        Each,
        Histogram,
        Maximum,
        Mean,
        Median,
        Minimum,
        Quantile,
        Statistic,
        Sum,
        TrimmedMean,
    )
    from confide.workers import Workers

__all__ = [
    "AccuracyError",
    "Adaptive",
    "ApproxDP",
    "ApproximationWarning",
    "Audit",
    "Bracket",
    "BudgetError",
    "Calibration",
    "Cells",
    "Channel",
    "ClassicalRatio",
    "Clamped",
    "Comparison",
    "ConfideError",
    "ConfideWarning",
    "Contrast",
    "Correlated",
    "Count",
    "CountTable",
    "DataError",
    "Each",
    "Estimate",
    "EstimateContrast",
    "Exponential",
    "Expression",
    "ExpressionError",
    "Family",
    "FileError",
    "GDP",
    "Gaussian",
    "Gibbs",
    "Grid",
    "Grouped",
    "Hashed",
    "Histogram",
    "ImputationWarning",
    "IncompatibleError",
    "Information",
    "InvalidArgument",
    "Laplace",
    "Law",
    "Ledger",
    "LedgerError",
    "MH",
    "MHAAR",
    "Maximum",
    "Mean",
    "Mechanism",
    "Median",
    "Method",
    "Minimum",
    "Model",
    "NUTS",
    "NoiseWarning",
    "Noiseless",
    "Normal",
    "Optimum",
    "Order",
    "OwnKernel",
    "PMMH",
    "ParameterError",
    "PerRecord",
    "Pilot",
    "Pool",
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
    "Requirement",
    "Response",
    "Rounded",
    "Route",
    "Rows",
    "Share",
    "SmoothCauchy",
    "SmoothLaplace",
    "Spectral",
    "Statement",
    "Statistic",
    "Study",
    "Sum",
    "Suppressed",
    "TrimmedMean",
    "TrueCounts",
    "Unlimited",
    "Walk",
    "Workers",
    "ZCDP",
    "account",
    "adapt",
    "audit",
    "bracket",
    "compare",
    "compose",
    "contrast",
    "datasets",
    "denoise",
    "estimate",
    "families",
    "infer",
    "information",
    "optimize",
    "pilot",
    "populations",
    "published_counts",
    "release",
    "report",
    "require",
    "sbc",
    "study",
    "verify",
]

__version__ = "0.1.0"

#: Every name is loaded when it is asked for: who lists a budget, or accounts for a batch, needs no model.
_LAZY = {
    name: module
    for module, names in {
        "confide.channel": ("Channel",),
        "confide.contrasting": ("Contrast", "contrast"),
        "confide.design": (
            "Adaptive", "Bracket", "ClassicalRatio", "Comparison", "Family", "Optimum", "Pilot", "Requirement", "Study",
            "adapt", "bracket", "compare", "families", "optimize", "pilot", "require", "study",
        ),
        "confide.errors": (
            "AccuracyError", "ApproximationWarning", "ConfideError", "ConfideWarning", "ExpressionError",
            "ImputationWarning", "IncompatibleError", "InvalidArgument", "NoiseWarning", "ParameterError",
            "PrivacyError", "RangeError",
        ),
        "confide.expression": ("Expression",),
        "confide.denoising": ("CountTable", "TrueCounts", "denoise", "published_counts"),
        "confide.frequentist": ("Estimate", "EstimateContrast", "estimate"),
        "confide.inference": ("Walk", "infer"),
        "confide.inference.method": ("Method",),
        "confide.inference.methods": ("OwnKernel", *registry.METHODS.values()),
        "confide.inference.sbc": ("Calibration", "sbc"),
        "confide.likelihood": ("Route", *registry.ROUTES.values()),
        "confide.information": ("Information",),
        "confide.mechanism": ("Law", "Mechanism", *registry.MECHANISMS.values()),
        "confide.model": ("Model",),
        "confide.population": ("Population",),
        "confide.posterior": ("Posterior",),
        "confide.prior": ("Prior",),
        "confide.processing": ("Clamped", "Rounded", "Suppressed"),
        "confide.privacy": ("Privacy", "account", "compose", *registry.GUARANTEES.values()),
        "confide.published": (
            "BudgetError", "DataError", "FileError", "Grouped", "Hashed", "LedgerError", "Release", "Rows", "Statement",
        ),
        "confide.published.verify": ("verify",),
        "confide.releasing": ("Audit", "Ledger", "audit", "release"),
        "confide.reporting": ("report",),
        "confide.statistic": ("Statistic", *registry.STATISTICS.values()),
        "confide.workers": ("Workers",),
    }.items()
    for name in names
}  # fmt: skip
_MODULES = ("datasets", "paper", "populations")


def __getattr__(name: str) -> typing.Any:
    if name in _MODULES:
        return importlib.import_module(f"confide.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'confide' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(types.ModuleType):
    """`confide.information` is the verb: the package of that name would take its place when it is imported."""

    @property
    def information(self) -> typing.Any:
        return importlib.import_module("confide.information.verb").information

    @information.setter
    def information(self, package: types.ModuleType) -> None:
        """The package is in `sys.modules`, where imports find it."""


sys.modules[__name__].__class__ = _Package
