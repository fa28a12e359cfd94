"""Which contender meets which problem, at which size; and the subset that `make bench-check` looks at."""

from __future__ import annotations

from typing import NamedTuple


class Cell(NamedTuple):
    """One contender on one problem."""

    task: str
    problem: str
    n: int
    contender: str


#: problem: contender: sizes. Where a size is missing the contender would take minutes or more memory than there is.
POSTERIORS: dict[str, dict[str, tuple[int, ...]]] = {
    "mean": {
        "auto": (10**2, 10**3, 10**4, 10**6, 10**9),
        "Algorithm 5": (10**2, 10**4),
        "Algorithm 6": (10**2, 10**4),
        "NUTS on (θ, u)": (10**2, 10**4),
        "NUTS on (θ, x)": (10**2,),
        "NumPy Algorithm 5": (10**2, 10**4),
        "NumPy Algorithm 6": (10**2, 10**4),
    },
    "median": {
        "auto": (10**2, 10**4, 10**6),
        "Algorithm 7": (10**2, 10**4, 10**6),
        "NumPy Algorithm 7, N = 50": (10**2, 10**4),
        "NumPy Algorithm 7, N = 5": (10**2,),
    },
    "maximum": {
        "auto": (10**2, 10**4, 10**6),
        "Algorithm 7": (10**2, 10**4, 10**6),
        "NumPy Algorithm 7, N = 50": (10**2,),
    },
    "local": {
        "auto": (10**2, 10**4, 10**6),
        "Algorithm 8": (10**2, 10**4),
        "NUTS on (θ, x)": (10**2,),
        "NumPy Algorithm 8, N = 100": (10**2, 10**4),
        "NumPy Algorithm 8, N = 10": (10**2, 10**4),
    },
    "moments": {
        "auto": (10**3,),
        "Algorithm 6": (10**3,),
        "NUTS on (θ, u)": (10**3,),
        "NumPy Algorithm 4": (10**3,),
    },
}
TASKS = {"mean": "a", "median": "b", "maximum": "b", "local": "c", "moments": "d"}

#: studies as a user asks for one, each of a channel of its own
STUDIES = ("study, hardly clipped", "study, clipped", "study, exponential median")

#: a regression with five parameters from moments of rows
OF_ROWS = (
    Cell("h", "regression", 10**3, "infer"),
    Cell("h", "regression", 10**5, "infer"),
    Cell("h", "regression", 10**3, "NUTS on (θ, rows)"),
)


def cells() -> list[Cell]:
    """Everything, `auto` first for each problem and size, as it brings the truth."""
    posteriors = [
        Cell(TASKS[problem], problem, n, contender)
        for problem, contenders in POSTERIORS.items()
        for n in contenders["auto"]
        for contender, sizes in contenders.items()
        if n in sizes
    ]
    informations = [
        Cell("e", problem, n, "information") for problem, contenders in POSTERIORS.items() for n in contenders["auto"]
    ]
    return [
        *posteriors,
        *informations,
        Cell("e", "mean", 100, "Algorithm 1"),
        Cell("f", "mean", 100, "study"),
        *(Cell("g", "mean", 100, name) for name in STUDIES),
        *OF_ROWS,
    ]


#: what the guard measures: two minutes or so on two cores
CHECKED = (
    Cell("a", "mean", 10**2, "auto"),
    Cell("a", "mean", 10**2, "NUTS on (θ, u)"),
    Cell("a", "mean", 10**2, "NumPy Algorithm 5"),
    Cell("a", "mean", 10**9, "auto"),
    Cell("b", "median", 10**2, "Algorithm 7"),
    Cell("b", "median", 10**2, "NumPy Algorithm 7, N = 50"),
    Cell("b", "median", 10**6, "Algorithm 7"),
    Cell("c", "local", 10**4, "auto"),
    Cell("c", "local", 10**4, "NumPy Algorithm 8, N = 10"),
    Cell("d", "moments", 10**3, "auto"),
    Cell("d", "moments", 10**3, "NUTS on (θ, u)"),
    Cell("e", "mean", 10**2, "information"),
    Cell("e", "mean", 10**2, "Algorithm 1"),
    Cell("f", "mean", 10**2, "study"),
    *(Cell("g", "mean", 10**2, name) for name in STUDIES[:2]),
    *OF_ROWS,
)
#: of a quick run: what is small
QUICK_N = 10**3
