"""One number for an information matrix at many θ: what channels are ranked by.

| criterion | is | better |
|---|---|---|
| expected_variance | ∫ tr (F + J)⁻¹ η, the posterior variance to expect: what mean squared error follows | smaller |
| information | ∫ tr F η, the paper's | larger |
| log_det | ∫ log det F η, free of the parameters' units | larger |
| minimum | the least eigenvalue of F over all θ: the worst case | larger |

J is what a prior knows by itself, 1/σ² of the normal law with its quartiles; at given θ there is none. Priors reach
where F vanishes, such as a rate of zero: with J no single θ decides, as it would for an average of F⁻¹.

A simplex has one direction fewer than entries: all of it is said of F restricted to the directions that θ can move in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from numpyro.distributions.constraints import positive_definite, simplex
from scipy.linalg import null_space

from confide.design.points import Points
from confide.errors import InvalidArgument
from confide.population import Population

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Criterion:
    """A score of F at each θ, with its slope in F (for errors), and whether smaller is better.

    `posterior` says whether it is one of all that is known afterwards, the prior included.
    """

    name: str
    smaller: bool
    score: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    posterior: bool = False

    def judges(self, matrices: Floats, points: Points, basis: Floats) -> Floats:
        """What is scored: F (…, k, k) in the directions of the basis (d, k), and with it what the prior knows."""
        if not self.posterior or points.precision is None:
            return matrices
        return np.asarray(matrices + (basis.T * points.precision) @ basis)

    def total(self, matrices: Floats, points: Points) -> float:
        """The score of F (M, d, d) over all points."""
        each = self.score(matrices)
        if self.name == "minimum":
            return float(np.min(each))
        # with what a prior knows a variance is at most the prior's, however wide that is
        return points.average(each, bounded=self.posterior and points.precision is not None)

    def error(self, matrices: Floats, errors: Floats, points: Points) -> float:
        """Its standard error, if estimates at different θ share all of their randomness: never too small."""
        if not np.any(errors > 0):
            return 0.0
        with np.errstate(invalid="ignore"):
            each = np.sqrt(np.sum((self.slope(matrices) * errors) ** 2, axis=(-2, -1)))
        if self.name == "minimum":
            return float(each[np.argmin(self.score(matrices))])
        return float(each @ points.weights)

    def share(self, score: float, best: float, size: int) -> float:
        """What a score is worth beside the best one; of a determinant with k directions its k-th root."""
        if self.name == "log_det":
            return float(np.exp((score - best) / size))
        return best / score if self.smaller else score / best

    def better(self, a: float, b: float) -> bool:
        """Whether a is the better score."""
        return a < b if self.smaller else a > b


def inverse(matrices: Floats) -> Floats:
    """F⁻¹, infinite on the diagonal where F is singular."""
    size = matrices.shape[-1]
    scale = np.sqrt(np.maximum(np.einsum("...ii->...i", matrices), 0.0))
    safe = np.where(scale > 0, scale, 1.0)
    correlation = matrices / (safe[..., :, None] * safe[..., None, :])
    regular = np.all(scale > 0, axis=-1) & (np.linalg.eigvalsh(correlation)[..., 0] > 1e-13)
    found = np.linalg.inv(np.where(regular[..., None, None], correlation, np.eye(size)))
    with np.errstate(over="ignore"):  # next to no information is an infinite variance
        found = found / safe[..., :, None] / safe[..., None, :]
    return np.where(regular[..., None, None], found, np.where(np.eye(size) > 0, np.inf, 0.0))


def _trace(matrices: Floats) -> Floats:
    return np.asarray(np.einsum("...ii->...", matrices))


def _least(matrices: Floats) -> Floats:
    return np.asarray(np.linalg.eigvalsh(matrices)[..., 0])


def _least_slope(matrices: Floats) -> Floats:
    vector = np.linalg.eigh(matrices)[1][..., 0]
    return np.asarray(vector[..., :, None] * vector[..., None, :])


def _log_det(matrices: Floats) -> Floats:
    sign, value = np.linalg.slogdet(matrices)
    return np.where(sign > 0, value, -np.inf)


def _inverse_square(matrices: Floats) -> Floats:
    found = inverse(matrices)
    return np.asarray(found @ found)


#: all criteria by their names
CRITERIA: dict[str, Criterion] = {
    each.name: each
    for each in (
        Criterion("expected_variance", True, lambda f: _trace(inverse(f)), _inverse_square, posterior=True),
        Criterion("information", False, _trace, lambda f: np.broadcast_to(np.eye(f.shape[-1]), f.shape)),
        Criterion("log_det", False, _log_det, inverse),
        Criterion("minimum", False, _least, _least_slope),
    )
}


def find_criterion(name: object) -> Criterion:
    """The criterion of a name (`trace` is `information`)."""
    known = {**CRITERIA, "trace": CRITERIA["information"]}
    if not isinstance(name, str) or name not in known:
        raise InvalidArgument("criterion", name, "is not a criterion", f"use one of {', '.join(known)}")
    return known[name]


def directions(population: Population) -> Floats:
    """An orthonormal basis (d, k) of the directions in which θ can move: not all, of a simplex or a covariance."""
    blocks = []
    for part in population.space:
        whole = np.eye(part.size)
        if part.constraint is positive_definite:
            blocks.append(_symmetric(math.isqrt(part.size)))
            continue
        blocks.append(null_space(np.ones((1, part.size))) if part.constraint is simplex else whole)
    basis = np.zeros((sum(len(block) for block in blocks), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        basis[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return basis


def _symmetric(size: int) -> Floats:
    """The directions (size², size·(size + 1)/2) in which a matrix stays symmetric."""
    pairs = [(i, j) for i in range(size) for j in range(i, size)]
    basis = np.zeros((size, size, len(pairs)))
    for place, (i, j) in enumerate(pairs):
        basis[i, j, place] = basis[j, i, place] = 1.0 if i == j else 0.5**0.5
    return basis.reshape(size * size, len(pairs))
