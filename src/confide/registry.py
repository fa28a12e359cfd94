"""What there is, by kind: the one list that files, their schema, the command line and `confide` itself read.

A new member is a class (or, for populations, a function) in its package and a line here. The word on the left is what
the command line calls it. Nothing is imported: a command that only lists a ledger needs none of them.
"""

from __future__ import annotations

import importlib
from typing import Any

#: texts that a list of categories may have, in a statistic and in a file: far beyond any use, far below any harm
MOST_CATEGORIES = 500
#: each: what the command line calls it, its class, and the number that it is made with beside its expression, if there
#: is one, with its limits: a command line has it after the word, a file by name
_STATISTICS: tuple[tuple[Any, ...], ...] = (
    ("mean", "Mean"),
    ("median", "Median"),
    ("maximum", "Maximum"),
    ("minimum", "Minimum"),
    ("quantile", "Quantile", "q", {"gt": 0, "le": 1}),
    ("trimmed_mean", "TrimmedMean", "trim", {"gt": 0, "lt": 0.5}),
    ("each", "Each"),
    ("sum", "Sum"),
    ("count", "Count"),
    ("histogram", "Histogram"),
)
STATISTICS: dict[str, str] = {word: name for word, name, *_ in _STATISTICS}
STATISTIC_NUMBERS: dict[str, str] = {word: number[0] for word, _, *number in _STATISTICS if number}
#: of each such number, as fields of a file have them
NUMBER_LIMITS: dict[str, dict[str, float]] = {number[0]: number[1] for _, _, *number in _STATISTICS if number}
#: what the others of a kind are called, and their classes (a population: its function)
MECHANISMS = {
    "laplace": "Laplace",
    "gaussian": "Gaussian",
    "randomized_response": "RandomizedResponse",
    "smooth_laplace": "SmoothLaplace",
    "smooth_cauchy": "SmoothCauchy",
    "exponential": "Exponential",
    "noiseless": "Noiseless",
}
#: what mechanisms may be made with beside their guarantee, as files and command lines call it
MECHANISM_OPTIONS = ("scale", "step", "alpha", "beta", "cap", "columns")
FAMILIES = {
    "power": "Power",
    "clip": "Clip",
    "each_clip": "EachClip",
    "threshold": "Threshold",
    "quantile": "QuantileLevel",
    "score": "ClippedScore",
    "moments": "Moments",
    "row_means": "RowMeans",
}
ROUTES = {
    "response": "Response",
    "records": "PerRecord",
    "share": "Share",
    "cells": "Cells",
    "spectral": "Spectral",
    "order": "Order",
    "pool": "Pool",
    "normal": "Normal",
}
METHODS = {
    "grid": "Grid",
    "nuts": "NUTS",
    "mh": "MH",
    "pmmh": "PMMH",
    "mhaar": "MHAAR",
    "gibbs": "Gibbs",
    "correlated": "Correlated",
}
GUARANTEES = {"pure": "PureDP", "approx": "ApproxDP", "zcdp": "ZCDP", "gdp": "GDP", "unlimited": "Unlimited"}
POPULATIONS = (
    "normal_mean",
    "normal_variance",
    "normal",
    "uniform_width",
    "bernoulli",
    "poisson",
    "exponential",
    "gamma",
    "beta",
    "lognormal",
    "laplace",
    "categorical",
    "negative_binomial",
)
#: what makes rows of several columns of them; the last from Python only
POPULATIONS_OF_ROWS = ("independent", "linear_regression", "logistic_regression", "with_missing")
#: the package in which the members of each kind are defined
_HOMES = {
    "statistic": STATISTICS,
    "mechanism": MECHANISMS,
    "design.families": FAMILIES,
    "likelihood": ROUTES,
    "inference.methods": METHODS,
    "privacy": GUARANTEES,
}


def members(kind: str) -> dict[str, Any]:
    """The classes of a kind by their names, in the order of the list.

    >>> list(members("privacy"))
    ['PureDP', 'ApproxDP', 'ZCDP', 'GDP', 'Unlimited']
    """
    package = importlib.import_module(f"confide.{kind}")
    return {name: getattr(package, name) for name in _HOMES[kind].values()}
