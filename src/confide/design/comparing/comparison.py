"""`Comparison`: several channels side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide._call import Remembered
from confide.design.criteria import CRITERIA, Criterion
from confide.design.currency import costs, equal
from confide.design.evaluate import SHOWN, Evaluation
from confide.design.points import Points
from confide.errors import IncompatibleError, InvalidArgument

Floats = NDArray[np.float64]


class Stretch(NamedTuple):
    """A channel that says the most about θ from `low` to `high`; `name` is None where no difference is shown."""

    name: str | None
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Several channels side by side: their information over θ, their scores, and who wins where.

    `table` is a DataFrame with a row per channel, best first; `best` is the winner's name, or None where estimates do
    not tell the leaders apart; `winners` lists the stretches of θ on which each wins, and `crossings` the θ between
    them (one parameter). `information` maps names to `Information`.

    >>> import confide as cf
    >>> population, noise = cf.populations.normal_variance(), cf.Gaussian(cf.GDP(1.0))
    >>> def model(s):
    ...     return cf.Model(population, cf.Channel(cf.Mean(s, bounds=(-10, 10)), noise, n=100))
    >>> models = {"abs": model("abs(x)"), "square": model("x**2")}
    >>> found = cf.compare(models, theta=[1.0, 2.0], method="normal")
    >>> print(found.verdict)
    Best by expected variance: abs.
    >>> found.winners
    (Stretch(name='abs', low=1.0, high=2.0),)
    """

    evaluations: Mapping[str, Evaluation]
    points: Points
    criterion: Criterion
    delta: float | None = None
    method: str = "auto"
    call: Remembered | None = field(default=None, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The channels, in the order given."""
        return tuple(self.evaluations)

    @property
    def information(self) -> dict[str, Any]:
        """The information of each channel at all θ."""
        return {name: each.information for name, each in self.evaluations.items()}

    @cached_property
    def scores(self) -> dict[str, Floats]:
        """The scores by criterion, in the order of `names`."""
        found = [each.scores() for each in self.evaluations.values()]
        return {name: np.asarray([scores[name] for scores in found]) for name in CRITERIA}

    @cached_property
    def errors(self) -> Floats:
        """Standard errors of the scores that rank."""
        return np.asarray([each.score(self.criterion)[1] for each in self.evaluations.values()])

    @property
    def order(self) -> NDArray[np.intp]:
        """Positions in `names`, best first."""
        scores = self.scores[self.criterion.name]
        return np.argsort(scores if self.criterion.smaller else -scores, kind="stable")

    @property
    def leaders(self) -> tuple[str, ...]:
        """The best by score and all that cannot be told from it."""
        scores, first = self.scores[self.criterion.name], self.order[0]
        return tuple(
            self.names[i]
            for i in self.order
            if i == first or _same(scores[i], scores[first], self.errors[i], self.errors[first])
        )

    @property
    def best(self) -> str | None:
        """The winner's name; None where no difference is shown."""
        return self.leaders[0] if len(self.leaders) == 1 else None

    def dominates(self, a: str, b: str) -> bool:
        """Whether channel a is shown to say at least as much as b at every θ, and more at some.

        For several parameters: F_a − F_b has no negative eigenvalue (the Loewner order), so that a says at least as
        much about every function of θ.

        >>> import confide as cf
        >>> population, noise = cf.populations.normal_variance(), cf.Gaussian(cf.GDP(1.0))
        >>> def model(s):
        ...     return cf.Model(population, cf.Channel(cf.Mean(s, bounds=(-10, 10)), noise, n=100))
        >>> models = {"abs": model("abs(x)"), "square": model("x**2")}
        >>> found = cf.compare(models, theta=[1.0, 2.0], method="normal")
        >>> found.dominates("abs", "square"), found.dominates("square", "abs")
        (True, False)
        """
        first, second = self._find(a), self._find(b)
        difference = first.matrices - second.matrices
        error = SHOWN * np.linalg.norm(np.hypot(first.errors, second.errors), axis=(-2, -1))
        size = np.linalg.norm(first.matrices, axis=(-2, -1)) + np.linalg.norm(second.matrices, axis=(-2, -1))
        values = np.linalg.eigvalsh(difference)
        rounding = 1e-9 * size
        return bool(np.all(values[:, 0] >= error - rounding) and np.any(values[:, -1] > error + rounding))

    def _find(self, name: str) -> Evaluation:
        if name not in self.evaluations:
            raise InvalidArgument("name", name, "is not one of the channels", f"use one of {', '.join(self.names)}")
        return self.evaluations[name]

    @cached_property
    def winners(self) -> tuple[Stretch, ...]:
        """Who wins where, along θ (one parameter)."""
        if self.points.thetas.shape[1] > 1:
            raise IncompatibleError("theta has several parameters, so it has no order; see the column 'wins' of .table")
        order = np.argsort(self.points.thetas[:, 0], kind="stable")
        theta = self.points.thetas[order, 0]
        wins = self._wins()[order]
        ends = [0, *(np.flatnonzero(np.diff(wins)) + 1), len(wins)]
        cuts = [theta[0], *(self._cross(theta, order, wins, i) for i in ends[1:-1]), theta[-1]]
        names = [None if wins[start] < 0 else self.names[wins[start]] for start in ends[:-1]]
        return tuple(Stretch(*each) for each in zip(names, map(float, cuts[:-1]), map(float, cuts[1:]), strict=True))

    @property
    def crossings(self) -> tuple[float, ...]:
        """The θ at which the lead changes hands."""
        return tuple(stretch.low for stretch in self.winners[1:])

    def _wins(self) -> NDArray[np.intp]:
        """The position of the winner at each θ; −1 where no difference is shown."""
        found = [each.each(self.criterion) for each in self.evaluations.values()]
        scores = np.stack([part[0] for part in found]) * (1 if self.criterion.smaller else -1)
        errors = np.stack([part[1] for part in found])
        ranked = np.argsort(scores, axis=0, kind="stable")
        first, second = (np.take_along_axis(scores, ranked[i : i + 1], 0)[0] for i in (0, 1))
        spread = np.hypot(*(np.take_along_axis(errors, ranked[i : i + 1], 0)[0] for i in (0, 1)))
        with np.errstate(invalid="ignore"):
            shown = second - first > SHOWN * spread + 1e-9 * np.abs(first)
        return np.where(shown, ranked[0], -1)

    def _cross(self, theta: Floats, order: Any, wins: Any, i: int) -> float:
        """Where the lead changes between θ_{i−1} and θ_i: the root of the logarithm of the ratio, taken as linear."""
        a, b = wins[i - 1], wins[i]
        middle = float(0.5 * (theta[i - 1] + theta[i]))
        if a < 0 or b < 0:
            return middle
        evaluations = tuple(self.evaluations.values())
        traces = [np.einsum("mii->m", evaluations[j].matrices)[order[i - 1 : i + 1]] for j in (a, b)]
        if min(part.min() for part in traces) <= 0:
            return middle
        before, after = np.log(traces[0] / traces[1])
        if before * after >= 0:
            return middle
        return float(theta[i - 1] + (theta[i] - theta[i - 1]) * before / (before - after))

    @cached_property
    def table(self) -> Any:
        """A DataFrame with a row per channel, best first."""
        import pandas as pd

        wins = self._wins()
        rows, first = [], self.scores[self.criterion.name][self.order[0]]
        for i in self.order:
            name = self.names[i]
            each = self.evaluations[name]
            row: dict[str, Any] = {key: scores[i] for key, scores in self.scores.items()}
            row["share of best"] = self.criterion.share(row[self.criterion.name], first, each.matrices.shape[-1])
            row["efficiency"] = each.efficiency
            row |= each.expected()
            row["wins"] = float(self.points.weights[wins == i].sum())
            row["method"] = each.information.method
            if np.any(self.errors > 0):
                row["standard error"] = self.errors[i]
            row["n"] = each.model.channel.n
            rows.append(row)
        table = pd.DataFrame(rows, index=pd.Index([self.names[i] for i in self.order], name="channel"))
        return table.assign(**self._costs())

    def _costs(self) -> dict[str, Any]:
        guarantees = [self.evaluations[self.names[i]].model.channel.guarantee for i in self.order]
        if all(equal(guarantees[0], other) for other in guarantees[1:]):
            return {"guarantee": [str(guarantees[0])] * len(guarantees)}
        unit, numbers = costs(guarantees, self.delta)
        return {"guarantee": [str(each) for each in guarantees], f"cost: {unit}": numbers}

    @property
    def verdict(self) -> str:
        """The outcome in a sentence or two."""
        words = self.criterion.name.replace("_", " ")
        if self.best is None:
            text = f"No difference shown in {words} between {', '.join(self.leaders)}."
        else:
            text = f"Best by {words}: {self.best}."
        lost = [self.names[i] for i in self.order if not np.isfinite(self.scores[self.criterion.name][i])]
        if lost:
            text += f" The {words} of {', '.join(lost)} diverges."
        guarantees = [each.model.channel.guarantee for each in self.evaluations.values()]
        if not all(equal(guarantees[0], other) for other in guarantees[1:]):
            text += " The guarantees differ: see the costs before choosing."
        return text

    def plot(self, ax: Any = None, *, against: str = "theta", values: Any = None, theta: Any = None) -> Any:
        """Draw the information of every channel against "theta", "privacy" or "n", on a log scale; returns the axes.

        Against privacy or n, `values` are the parameters (ε, μ or ρ) or numbers of records, and `theta` where the
        information is taken (by default the middle one).

        >>> import confide as cf
        >>> population, noise = cf.populations.normal_variance(), cf.Gaussian(cf.GDP(1.0))
        >>> def model(s):
        ...     return cf.Model(population, cf.Channel(cf.Mean(s, bounds=(-10, 10)), noise, n=100))
        >>> models = {"abs": model("abs(x)"), "square": model("x**2")}
        >>> found = cf.compare(models, theta=[1.0, 2.0], method="normal")
        >>> [line.get_label() for line in found.plot().get_lines()]
        ['abs', 'square']
        """
        from confide.design.comparing.plot import plot

        return plot(self, ax, against, values, theta)

    def __str__(self) -> str:
        lines = [self.table.to_string(float_format=lambda number: f"{number:.4g}"), "", self.verdict]
        if self.points.thetas.shape[1] == 1 and len(self.winners) > 1:
            label = next(iter(self.evaluations.values())).labels[0]
            for name, low, high in self.winners:
                lines.append(f"  {label} from {low:.4g} to {high:.4g}: {name or 'no difference shown'}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"{self.table.to_html(float_format=lambda number: f'{number:.4g}')}<p>{self.verdict}</p>"


def _same(a: float, b: float, error_a: float, error_b: float) -> bool:
    """Whether two scores cannot be told apart, by rounding or by their errors."""
    if not (np.isfinite(a) and np.isfinite(b)):
        return bool(a == b)
    return bool(abs(a - b) <= max(SHOWN * np.hypot(error_a, error_b), 1e-9 * abs(b)))
