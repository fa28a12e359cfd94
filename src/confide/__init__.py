"""Confide: differentially private Bayesian estimation.

A sensitive data set, one noisy number published from it, and two questions: which statistic should be published, and
what does the published number say about the population?
"""

from confide import populations
from confide.channel import Channel
from confide.errors import (
    AccuracyError,
    ConfideError,
    ExpressionError,
    IncompatibleError,
    InvalidArgument,
    ParameterError,
    PrivacyError,
    RangeError,
)
from confide.expression import Expression
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
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP, Unlimited, compose
from confide.statistic import Each, Maximum, Mean, Median, Minimum, Quantile, Statistic

__all__ = [
    "AccuracyError",
    "ApproxDP",
    "Channel",
    "ConfideError",
    "Each",
    "Exponential",
    "Expression",
    "ExpressionError",
    "GDP",
    "Gaussian",
    "IncompatibleError",
    "Information",
    "InvalidArgument",
    "Laplace",
    "Law",
    "Maximum",
    "Mean",
    "Mechanism",
    "Median",
    "Minimum",
    "Model",
    "Noiseless",
    "ParameterError",
    "Population",
    "Privacy",
    "PrivacyError",
    "PureDP",
    "Quantile",
    "RandomizedResponse",
    "RangeError",
    "SmoothCauchy",
    "SmoothLaplace",
    "Statistic",
    "Unlimited",
    "ZCDP",
    "compose",
    "information",
    "populations",
]

__version__ = "0.1.0"
