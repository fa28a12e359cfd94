"""What is known before anything is published, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Assumed:
    """What is known before anything is published."""

    population: Any
    #: the words of the command line, as which it goes into scripts too
    population_words: str
    prior: dict[str, Any]
    prior_words: list[str]
    #: of the one column, or by the names of several
    bounds: Any
    n: int
    #: whether n is protected too, and only assumed
    private: bool
    privacy: Any
    privacy_words: str

    @property
    def several(self) -> bool:
        """Whether a record is a row of several columns."""
        return isinstance(self.bounds, dict)

    @property
    def records(self) -> int | None:
        """The number of records that a channel is told: none where that is private."""
        return None if self.private else self.n

    @property
    def assumed(self) -> dict[str, Any]:
        """What verbs are told of a private number of records."""
        return {"n": self.n} if self.private else {}
