"""The information of several models at the same points, and their scores by every criterion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.clipping import clipped_share
from confide.design.criteria import CRITERIA, Criterion, directions, inverse
from confide.design.points import Points
from confide.design.search.family import from_statistics
from confide.design.search.problem import scalar_means
from confide.design.search.tabulated import tabulate
from confide.errors import AccuracyError, IncompatibleError
from confide.information import Information, information
from confide.information.result import efficiency
from confide.model import Model

Floats = NDArray[np.float64]

#: standard errors by which one estimate must exceed another to be called larger
SHOWN = 3.0


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A model, its information at the points, and what follows from it."""

    model: Model
    points: Points
    information: Information

    @property
    def matrices(self) -> Floats:
        """F (M, k, k) in the directions that θ can move in."""
        basis = directions(self.model.population)
        return np.asarray(np.einsum("ia,mij,jb->mab", basis, self.information.matrix, basis))

    @property
    def errors(self) -> Floats:
        """Standard errors of `matrices`, never too small."""
        basis = np.abs(directions(self.model.population))
        return np.asarray(np.einsum("ia,mij,jb->mab", basis, self.information.standard_error, basis))

    def score(self, criterion: Criterion) -> tuple[float, float]:
        """The score over all points, and its standard error."""
        judged = self._judged(criterion)
        return criterion.total(judged, self.points), criterion.error(judged, self.errors, self.points)

    def scores(self) -> dict[str, float]:
        """All scores by name."""
        return {name: self.score(criterion)[0] for name, criterion in CRITERIA.items()}

    def each(self, criterion: Criterion) -> tuple[Floats, Floats]:
        """The score at each θ by itself, with errors."""
        judged = self._judged(criterion)
        spread = np.sqrt(np.sum((criterion.slope(judged) * self.errors) ** 2, axis=(-2, -1)))
        return criterion.score(judged), np.where(np.isfinite(spread), spread, 0.0)

    def _judged(self, criterion: Criterion) -> Floats:
        return criterion.judges(self.matrices, self.points, directions(self.model.population))

    def deviations(self) -> Floats:
        """The posterior standard deviation to expect of each parameter, in its own units: (d,)."""
        basis = directions(self.model.population)
        covariance = inverse(self._judged(CRITERIA["expected_variance"]))
        with np.errstate(invalid="ignore"):
            variances = np.einsum("ia,mab,ib->mi", basis, covariance, basis)
        variances = np.where(np.isnan(variances), np.inf, variances)
        bounded = self.points.precision is not None
        return np.sqrt([self.points.average(column, bounded=bounded) for column in variances.T])

    def expected(self) -> dict[str, float]:
        """What to expect in the units of the data, before anything is spent.

        The posterior standard deviation of each parameter, the noise that the published number will stay within (90%;
        NaN where it depends on the records), and the share of the population that is clipped.
        """
        channel, population = self.model.channel, self.model.population
        row = {f"sd {name}": float(each) for name, each in zip(self.labels, self.deviations(), strict=True)}
        margin = channel.margin()
        row["noise ±"] = float("nan") if margin is None else margin
        shares = clipped_share(population, channel.statistic, self.points.thetas)
        return row | {"clipped": float(np.ravel(shares) @ self.points.weights)}

    @property
    def labels(self) -> list[str]:
        """A label for each entry of θ."""
        return [
            part.name if not part.vector else f"{part.name}[{i}]"
            for part in self.model.population.space
            for i in range(part.size)
        ]

    @property
    def efficiency(self) -> float:
        """The mean share of the records' own information; NaN where that is undefined."""
        share = self.information.efficiency
        return float("nan") if share is None else float(np.ravel(share) @ self.points.weights)


def evaluate(model: Model, points: Points, method: str, key: Any, n: int | None = None) -> Evaluation:
    """The model's information at the points: exact where `auto` finds a way, and said so where it does not.

    Far in the tails of a prior the transform of a mean is costly to invert and weighs next to nothing: there, beyond
    the middle 98%, its moments serve. Where the number of records is private, n is the one that is assumed.
    """
    if model.channel.n is None:
        return Evaluation(model, points, information(model, points.thetas, method=method, n=n))
    body = points.body
    if method == "auto" and not np.all(body):
        elsewhere = by_moments(model, points)
        if elsewhere is not None:
            inside = _informed(model, points.thetas[body], method, key)
            return Evaluation(model, points, _merged(model, points, inside, elsewhere))
    return Evaluation(model, points, _informed(model, points.thetas, method, key))


def by_moments(model: Model, points: Points) -> Floats | None:
    """F (M, d, d) of a scalar mean with continuous noise from its moments; None for anything else."""
    channel = model.channel
    noise = channel.law.added
    scalar = channel.statistic.averages and channel.statistic.dimension == 1
    if not scalar or model.population.rows is not None or noise is None or noise.step is not None:
        return None
    law = tabulate(model.population, points)
    values = from_statistics(law, [channel.statistic])
    ratio = float((values.high - values.low)[0, 0]) / (channel.n * float(noise.scale))
    return scalar_means(law, channel.n, values, ratio, laplace=noise.kinked)[0]


def _merged(model: Model, points: Points, inside: Information, elsewhere: Floats) -> Information:
    body = points.body
    matrix, error = np.array(elsewhere), np.zeros_like(elsewhere)
    matrix[body], error[body] = inside.matrix, inside.standard_error
    whole = None if model.population.moving else model.channel.n * np.asarray(model.population.fisher(points.thetas))
    note = "in the outer 2% of the prior from the moments of the mean"
    return replace(
        inside,
        theta=points.thetas,
        matrix=matrix,
        standard_error=error,
        efficiency=efficiency(matrix, whole),
        note=note,
    )


def _informed(model: Model, thetas: Floats, method: str, key: Any) -> Information:
    if method != "auto":
        return information(model, thetas, method=method, key=key)
    approximate = model.channel.statistic.averages
    # a noiseless mean has no exact route of its own
    if approximate and model.channel.law.noiseless:
        return information(model, thetas, method="normal")
    try:
        return information(model, thetas, key=key)
    except (AccuracyError, IncompatibleError):
        if not approximate:
            raise
        return information(model, thetas, method="normal")
