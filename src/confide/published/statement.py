"""The statement of an account: what a data set may spend, has spent and has left, and what it was spent on."""

from __future__ import annotations

from dataclasses import dataclass

from confide.privacy import Privacy
from confide.privacy.relation import REPLACE
from confide.published.release import Release


@dataclass(frozen=True)
class Statement:
    """The account of one data set, as `ledger.statement(name)` has it.

    `days` says when each release was made, as 2026-11-18: the day and no more, for how long a computation took is not
    protected. `spent` is None before the first release, and `left` when nothing is left.

    >>> import confide as cf
    >>> print(Statement("people", cf.GDP(1.0), None, cf.GDP(1.0), (), ()))
    people: 1-Gaussian differential privacy, of which nothing is spent and 1-Gaussian differential privacy is left;
    releases: 0
    """

    dataset: str
    budget: Privacy
    spent: Privacy | None
    left: Privacy | None
    releases: tuple[Release, ...]
    days: tuple[str, ...]
    #: which data sets are neighbours in what the budget limits
    neighbours: str = REPLACE

    def __str__(self) -> str:
        relation = "" if self.neighbours == REPLACE else f" between {self.neighbours} neighbours"
        return (
            f"{self.dataset}: {self.budget}{relation}, of which {self.spent or 'nothing'} is spent and "
            f"{self.left or 'nothing'} is left; releases: {len(self.releases)}"
        )
