"""Tables of counts that others publish, as `confide denoise` reads them: CSV files, whose cells are public."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confide as cf
from confide.errors import InvalidArgument
from confide_cli.words import call, choice

#: the largest file, 16 MB: tables of more cells are for Python
_LARGEST = 2**24
#: kinds of noise, and what may have been done to a number afterwards, in the words of the command line
_NOISE = {"gaussian": cf.Gaussian, "laplace": cf.Laplace}
_DONE = {"clamped": cf.Clamped, "rounded": cf.Rounded, "suppressed": cf.Suppressed}


@dataclass(frozen=True)
class Published:
    """How the numbers of a table that somebody else published are to be read."""

    count: str
    variance: str
    noise: str
    step: str
    processed: str | None

    def table(self, path: Path) -> cf.CountTable:
        """The noisy counts of a CSV file, with the variance of each."""
        columns = _columns(path)
        for name, option in ((self.count, "--count"), (self.variance, "--variance")):
            if name not in columns and not (option == "--variance" and _is_number(name)):
                listed = f"the file {path.name!r} has {', '.join(columns)}"
                raise InvalidArgument(option, name, "is no column of the table", listed)
        numbers = [None if not cell.strip() else cell for cell in columns[self.count]]
        variance = self.variance if self.variance in columns else float(self.variance)
        return cf.published_counts(
            columns | {self.count: numbers}, variance=variance, count=self.count, step=self._step(),
            noise=_NOISE[choice("--noise", self.noise, _NOISE)], processed=self._processed(),
        )  # fmt: skip

    def _step(self) -> float | None:
        if self.step == "none":
            return None
        if not _is_number(self.step):
            raise InvalidArgument("--step", self.step, "is no number", "give 1 for whole numbers, or none")
        return float(self.step)

    def _processed(self) -> Any:
        if self.processed is None:
            return None
        name, values, named = call("--processed", self.processed)
        kind = _DONE[choice("--processed", name.lower(), _DONE)]
        try:
            return kind(*values, **named)
        except TypeError:
            remedy = "write clamped(0), rounded(5) or suppressed(below=10)"
            raise InvalidArgument("--processed", self.processed, "has other numbers than it takes", remedy) from None


def _columns(path: Path) -> dict[str, list[Any]]:
    """Columns of texts by their names in the first line; lines are as long as that."""
    remedy = "give a CSV file with a line of names, one of a column of counts"
    try:
        if path.stat().st_size > _LARGEST:
            raise InvalidArgument("RELEASE", path.name, "is larger than 16 MB", "read it in Python: published_counts")
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file, strict=True) if line]
    except (OSError, ValueError, csv.Error) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument("RELEASE", path.name, "cannot be read as a table", remedy) from None
    names = [name.strip() for name in lines[0]] if lines else []
    if len(lines) < 2 or len(set(names)) < len(names) or any(len(line) != len(names) for line in lines):
        problem = "has no rows, two columns of one name, or a line of another length"
        raise InvalidArgument("RELEASE", path.name, problem, remedy)
    return {name: [line[place].strip() for line in lines[1:]] for place, name in enumerate(names)}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
