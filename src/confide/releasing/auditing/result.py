"""What an audit tried and what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confide.channel import Channel
from confide.releasing.auditing.neighbours import AnyNeighbours
from confide.releasing.auditing.outcomes import Outcome


@dataclass(frozen=True)
class Failure:
    """Two generated tables that differ in one record, and what gives that record away."""

    problem: str
    family: AnyNeighbours
    cells: tuple[Any, Any]
    outcomes: tuple[Outcome, Outcome]

    @property
    def reader(self) -> str:
        """The reader that the tables went through, with the type of the column."""
        return str(self.family.shape)

    @property
    def kind(self) -> str:
        """The problem without its numbers."""
        return "".join(character for character in self.problem if not character.isdigit())

    def __str__(self) -> str:
        family = self.family
        told = [
            f"{name}={value!r}"
            for name, value in (("part", family.part), ("missing", family.missing))
            if value is not None
        ]
        lines = [
            f"{self.problem}:",
            f"  {family.plan.channel!r}",
            f"  from a {self.reader}" + (f" with {', '.join(told)}" if told else ""),
            f"  records: {family.shown}",
            *(f"  {family.told(cell)}: {outcome}" for cell, outcome in zip(self.cells, self.outcomes, strict=True)),
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Audit:
    """What was tried, and every way found in which one record shows more than it may.

    `tried` counts the pairs of neighbours by reader and type of column, `refused` those of them where both tables were
    refused in the same words though all could be released. A failure holds generated records only, and prints as a
    reproduction.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=100)
    >>> found = cf.audit(channel, like=[0.5], pairs=20)
    >>> found.passed, found.failures
    (True, ())
    """

    channel: Channel
    tried: Mapping[str, int]
    refused: Mapping[str, int]
    tables: int
    records: tuple[int | None, ...]
    seed: int
    failures: tuple[Failure, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.failures

    @property
    def pairs(self) -> int:
        """How many pairs of neighbours were compared."""
        return sum(self.tried.values())

    def __str__(self) -> str:
        sizes = ", ".join("a private number" if n is None else str(n) for n in self.records)
        lines = [
            f"{self.pairs} pairs of neighbouring tables ({self.tables} tables of generated records, releases of "
            f"{sizes} of them; seed {self.seed}) through the pipeline of",
            f"  {self.channel!r}",
        ]
        for reader, pairs in self.tried.items():
            refused = self.refused.get(reader, 0)
            lines.append(f"  {reader}: {pairs}" + (f", of which {refused} refused alike" if refused else ""))
        if self.passed:
            lines.append("No record showed more than the noise is calibrated to hide.")
        else:
            lines.append(f"{len(self.failures)} ways found in which a record shows more than it may:")
            lines += [str(failure) for failure in self.failures]
        return "\n".join(lines)
