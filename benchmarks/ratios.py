"""The ratios that are promised and guarded, from rows; larger is better in all of them.

Plain Python: the guard's own test needs nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]
#: a ratio that falls below this share of its recorded value fails the guard
FLOOR = 0.5
#: how many posteriors one run of the study makes
STUDY = 10_000


class Rows:
    """Rows by problem, size and contender."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = {(row["problem"], row["n"], row["contender"]): row for row in rows if row.get("warm")}

    def get(self, problem: str, n: int, contender: str, what: str) -> float:
        """A number of one row; KeyError if it was not measured."""
        found = self.rows[problem, n, contender].get(what)
        if found is None:
            raise KeyError(what)
        return float(found)

    def best(self, problem: str, n: int, begins: tuple[str, ...]) -> float:
        """The highest rate among contenders whose names begin so."""
        found = [
            float(row["rate"])
            for (p, size, name), row in self.rows.items()
            if (p, size) == (problem, n) and name.startswith(begins) and "rate" in row
        ]
        if not found:
            raise KeyError((problem, n, begins))
        return max(found)


def _rates(problem: str, n: int, contender: str, *others: str) -> Callable[[Rows], float]:
    return lambda rows: rows.get(problem, n, contender, "rate") / rows.best(problem, n, others)


def _inverse(problem: str, contender: str, small: int, large: int, what: str) -> Callable[[Rows], float]:
    """A cost at the small size over that at the large one."""
    return lambda rows: rows.get(problem, small, contender, what) / rows.get(problem, large, contender, what)


def _evenness(problem: str, contender: str, small: int, large: int, what: str) -> Callable[[Rows], float]:
    """The smaller of two costs over the larger: 1 if n does not matter."""
    costs = _inverse(problem, contender, small, large, what)
    return lambda rows: min(costs(rows), 1 / costs(rows))


def _study_times(other: str) -> Callable[[Rows], float]:
    """A warm study of a mean that is hardly clipped over another one."""
    return lambda rows: rows.get("mean", 100, "study, hardly clipped", "warm") / rows.get("mean", 100, other, "warm")


#: name: (how it is computed, what is wanted of it, or None)
RATIOS: dict[str, tuple[Callable[[Rows], float], float | None]] = {
    "a: auto / NUTS on (θ, u), n = 10²": (_rates("mean", 100, "auto", "NUTS on (θ, u)"), None),
    "a: auto / the best other, n = 10²": (_rates("mean", 100, "auto", "NUTS", "NumPy"), 40.0),
    "a: auto, the quicker / the slower of n = 10² and 10⁹": (_evenness("mean", "auto", 100, 10**9, "warm"), 1 / 1.2),
    "b: Algorithm 7 / NumPy, median, n = 10²": (_rates("median", 100, "Algorithm 7", "NumPy"), 200.0),
    "b: Algorithm 7 / NumPy, median, n = 10⁴": (_rates("median", 10**4, "Algorithm 7", "NumPy"), 200.0),
    "b: Algorithm 7 / NumPy, maximum, n = 10²": (_rates("maximum", 100, "Algorithm 7", "NumPy"), 200.0),
    "b: auto / NumPy, median, n = 10²": (_rates("median", 100, "auto", "NumPy"), 200.0),
    "b: auto / Algorithm 7, median, n = 10²": (_rates("median", 100, "auto", "Algorithm 7"), 1.0),
    "b: Algorithm 7, step at n = 10² / at n = 10⁶": (_inverse("median", "Algorithm 7", 100, 10**6, "step_us"), 1 / 1.5),
    "b: Algorithm 7, IAC at n = 10² / at n = 10⁶": (_inverse("median", "Algorithm 7", 100, 10**6, "iac"), 1 / 3),
    "c: auto / NumPy, n = 10⁴": (_rates("local", 10**4, "auto", "NumPy"), 50.0),
    "c: Algorithm 8 / NumPy with N = 100, n = 10²": (
        _rates("local", 100, "Algorithm 8", "NumPy Algorithm 8, N = 100"),
        20.0,
    ),
    "c: auto / Algorithm 8, n = 10²": (_rates("local", 100, "auto", "Algorithm 8"), 200.0),
    "c: Algorithm 8 / NumPy, n = 10⁴": (_rates("local", 10**4, "Algorithm 8", "NumPy"), None),
    "d: auto / NUTS on (θ, u)": (_rates("moments", 1000, "auto", "NUTS on (θ, u)"), 5.0),
    "e: Algorithm 1 / exact information, time": (
        lambda rows: rows.get("mean", 100, "Algorithm 1", "warm") / rows.get("mean", 100, "information", "warm"),
        None,
    ),
    "f: a study's posteriors / one by one": (
        lambda rows: STUDY * rows.get("mean", 100, "auto", "warm") / rows.get("mean", 100, "study", "warm"),
        None,
    ),
    "g: study of a mean, hardly clipped / clipped, time": (_study_times("study, clipped"), 1 / 3),
    "g: study of a mean, hardly clipped / of an exponential median, time": (
        _study_times("study, exponential median"),
        None,
    ),
    "h: infer / NUTS on (θ, rows), n = 10³": (_rates("regression", 10**3, "infer", "NUTS on (θ, rows)"), 20.0),
    # what is promised is a time: on two quiet cores
    "h: ten seconds / 4,000 effective draws of five parameters, n = 10⁵": (
        lambda rows: 10.0 * rows.get("regression", 10**5, "infer", "rate") / 4000.0,
        1.0,
    ),
}


def ratios(rows: Iterable[Row]) -> dict[str, float]:
    """All ratios whose rows were measured."""
    measured = Rows(rows)
    found = {}
    for name, (compute, _) in RATIOS.items():
        try:
            found[name] = compute(measured)
        except KeyError:
            continue
    return found


def compare(recorded: Mapping[str, float], measured: Mapping[str, float]) -> tuple[list[str], bool]:
    """A line for each ratio that is both recorded and measured, and whether none fell below half its record."""
    lines, fine = [], True
    for name, now in measured.items():
        before = recorded.get(name)
        if before is None:
            lines.append(f"new   {name}: {now:,.3g}, nothing recorded")
            continue
        good = now >= FLOOR * before
        fine = fine and good
        lines.append(f"{'ok   ' if good else 'FELL '} {name}: {now:,.3g}, recorded {before:,.3g}")
    return lines, fine
