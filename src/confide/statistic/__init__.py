"""Statistics: what is computed from the records before noise."""

from confide.statistic.each import Each
from confide.statistic.histogram import Histogram
from confide.statistic.mean import Mean
from confide.statistic.order import Maximum, Median, Minimum, OrderStatistic, Quantile
from confide.statistic.statistic import Statistic
from confide.statistic.total import Count, Sum
from confide.statistic.trimmed import TrimmedMean

__all__ = [
    "Count",
    "Each",
    "Histogram",
    "Maximum",
    "Mean",
    "Median",
    "Minimum",
    "OrderStatistic",
    "Quantile",
    "Statistic",
    "Sum",
    "TrimmedMean",
]
