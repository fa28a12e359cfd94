"""Families of statistics to choose from, one idea a file."""

from confide.design.families.clip import Clip
from confide.design.families.each_clip import EachClip
from confide.design.families.moments import Moments
from confide.design.families.power import Power
from confide.design.families.quantile import QuantileLevel
from confide.design.families.row_means import RowMeans
from confide.design.families.score import ClippedScore
from confide.design.families.threshold import Threshold

__all__ = ["Clip", "ClippedScore", "EachClip", "Moments", "Power", "QuantileLevel", "RowMeans", "Threshold"]
