"""A noisy value of each record."""

from __future__ import annotations

from typing import Any

from confide._final import final
from confide.statistic.size import check_count
from confide.statistic.statistic import OWN, Statistic, scalar_width


@final(OWN)
class Each(Statistic):
    """One noisy value of s(x) per record: the local model, the paper's sequential release (Sec 3.4).

    >>> Each("x > 2", bounds=(0, 5)).levels
    (0.0, 1.0)
    """

    noun = "each record's"
    per_record = True
    vector = False

    def summary(self, records: Any, window: int = 0) -> Any:
        """s of each record."""
        del window
        return self.values(records)

    def sensitivity(self, n: int, norm: int = 1) -> float:
        """The whole width of the range, for each value depends on one record only."""
        del norm
        check_count(n)
        return scalar_width(self)
