"""Choosing what to release: nothing here can read records."""

from confide.design.compare import compare
from confide.design.comparison import Comparison

__all__ = ["Comparison", "compare"]
