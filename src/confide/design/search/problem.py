"""What is being optimised: a tabulated population, a guarantee, n, and the score of an information matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.design.criteria import Criterion, directions
from confide.design.search.approximate import MeanLaw, gaussian_information, scalar_information
from confide.design.search.family import Candidates
from confide.design.search.tabulated import Tabulated, vector_moments
from confide.design.search.totals import totals_information
from confide.errors import ConfideError
from confide.mechanism import Gaussian, Laplace, Mechanism, Noiseless
from confide.mechanism.calibration import gaussian_ratio, laplace_ratio
from confide.privacy import Privacy, Unlimited
from confide.statistic import Statistic

Floats = NDArray[np.float64]

#: points of the line between which a vector's sensitivity is sought
_PAIRS = 120


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """One guarantee and n, and what to make small. Where the number of records is private, n is one that is assumed."""

    law: Tabulated
    privacy: Privacy
    n: int
    criterion: Criterion
    private: bool = False

    def mechanism(self, kind: type[Mechanism]) -> Mechanism | None:
        """The mechanism with this problem's guarantee, or None where it cannot give it."""
        make: Any = kind
        if kind is Noiseless:
            return make() if isinstance(self.privacy, Unlimited) and not self.private else None
        try:
            found: Mechanism = make(self.privacy)
        except ConfideError:
            return None
        return found

    @cached_property
    def _basis(self) -> Floats:
        return directions(self.law.population)

    def loss(self, matrices: Floats) -> Floats:
        """The score of F (B, M, d, d) as something to make small: (B,). No tail beyond the points is added."""
        reduced = np.einsum("ia,bmij,jc->bmac", self._basis, matrices, self._basis)
        finite = np.all(np.isfinite(reduced), axis=(-2, -1))
        usable = np.where(finite[..., None, None], reduced, 0.0)
        each = self.criterion.score(self.criterion.judges(usable, self.law.points, self._basis))
        if self.criterion.name == "minimum":
            return -each.min(axis=1)
        total = np.sum(np.where(self.law.points.weights > 0, each * self.law.points.weights, 0.0), axis=1)
        return total if self.criterion.smaller else -total

    def mean_information(self, candidates: Candidates, kind: type[Mechanism], *, normal: bool = False) -> Floats:
        """F (B, M, d, d) of the noisy means of candidates; `normal` is the normal model as it stands."""
        if self.private:
            return totals_information(self.law, self.n, candidates, self.ratio(kind), laplace=kind is Laplace)
        if candidates.s.shape[1] == 1:
            return scalar_means(self.law, self.n, candidates, self.ratio(kind), laplace=kind is Laplace, normal=normal)
        return _vector(self, candidates, kind)

    def best(self, informations: Floats) -> tuple[int, float]:
        """The position and the loss of the best of many F (B, M, d, d)."""
        losses = np.nan_to_num(self.loss(informations), nan=np.inf)
        at = int(np.argmin(losses))
        return at, float(losses[at])

    def ratio(self, kind: type[Mechanism]) -> float:
        """Sensitivity over noise scale; infinite without noise."""
        if kind is Noiseless:
            return float("inf")
        return laplace_ratio(self.privacy) if kind is Laplace else gaussian_ratio(self.privacy)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The best of a family under one mechanism: a statistic, and its information as the search saw it (M, d, d)."""

    family: str
    statistic: Statistic
    mechanism: Mechanism
    information: Floats
    loss: float
    parameters: Floats


#: mechanisms under which means are searched for by their moments
MEANS: tuple[type[Mechanism], ...] = (Laplace, Gaussian, Noiseless)


def scalar_means(
    law: Tabulated, n: int, candidates: Candidates, ratio: float, *, laplace: bool, normal: bool = False
) -> Floats:
    """F (B, M, d, d) of noisy scalar means, where `ratio` is the sensitivity over the noise's scale."""
    width = (candidates.high - candidates.low)[:, 0]
    usable = width > 0
    # in units of the range
    s = (candidates.s[:, 0] - candidates.low) / np.where(usable, width, 1.0)[:, None]
    mean = _mean_law(law, n, s)
    scale = np.full(mean.variance.shape, 1.0 / (n * ratio))
    found = scalar_information(mean.normal if normal else mean, scale, laplace=laplace)
    return np.where(usable[:, None, None, None], np.moveaxis(found, 1, 0), 0.0)


def _mean_law(law: Tabulated, n: int, s: Floats) -> MeanLaw:
    """The law of the mean of s (B, J) at every θ: (M, B)."""
    count = len(s)
    powers = np.empty((4, *s.shape))
    powers[0] = s
    np.multiply(s, s, out=powers[1])
    np.multiply(powers[1], s, out=powers[2])
    np.multiply(powers[1], powers[1], out=powers[3])
    mean, slope = law.means(powers.reshape(4 * count, -1))
    first, second, third, fourth = np.moveaxis(mean.reshape(len(mean), 4, count), 1, 0)
    d_first, d_second = (np.moveaxis(slope[:, :, i * count : (i + 1) * count], 1, 2) for i in (0, 1))
    variance = np.maximum(second - first**2, 1e-14)
    d_variance = d_second - 2 * first[..., None] * d_first
    skew = third - 3 * first * second + 2 * first**3
    tail = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4 - 3 * variance**2
    return MeanLaw(d_first, variance / n, d_variance / n, skew / n**2, tail / n**3)


def _vector(problem: SearchProblem, candidates: Candidates, kind: type[Mechanism]) -> Floats:
    s = candidates.s - candidates.low[..., None]
    _, d_first, covariance, d_covariance = vector_moments(problem.law, s)
    size = s.shape[1]
    width = _diameter(candidates.s, 1 if kind is Laplace else 2)
    variance = (width / (problem.n * problem.ratio(kind))) ** 2 * (2.0 if kind is Laplace else 1.0)
    trace = np.einsum("mbii->mb", covariance)
    floor = variance + 1e-12 * trace / problem.n + 1e-300
    total = covariance / problem.n + floor[..., None, None] * np.eye(size)
    usable = np.all(candidates.high > candidates.low, axis=1)
    total = np.where(usable[:, None, None], total, np.eye(size))
    found = np.moveaxis(gaussian_information(d_first, total, d_covariance / problem.n), 1, 0)
    return np.where(usable[:, None, None, None], found, 0.0)


def _diameter(s: Floats, norm: int) -> Floats:
    """The greatest distance between two of a number of points of each curve (B, k, J)."""
    some = s[..., np.unique(np.linspace(0, s.shape[-1] - 1, _PAIRS).astype(int))]
    apart = np.abs(some[..., :, None] - some[..., None, :])
    distance = apart.sum(axis=1) if norm == 1 else np.sqrt(np.square(apart).sum(axis=1))
    return np.asarray(distance.max(axis=(-2, -1)))
