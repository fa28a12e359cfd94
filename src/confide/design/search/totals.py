"""Sums beside a count of a private number of records: how a budget is split, and about what sums are centred.

Published is (1, (s − c)/w), summed over the records, with noise for the largest norm that one record has. With s on
(m − h, m + h) that is 1 + (h + |c − m|)/w for Laplace noise and the root of 1 + ((h + |c − m|)/w)² for Gaussian noise:
a small w gives the sum more of the budget, and a c next to E s makes it say something that hardly depends on n.

With Gaussian noise of one size a release is known by the Gram matrix of the two vectors that the ends of s are sent
to, and whoever lengthens one of them by a component of its own learns more. Both are then of full length, and what is
left is the angle between them: c = m, and w is all there is to choose. Laplace noise has no such symmetry: there c is
searched, too.

The information about (θ, n) is that of the normal law, of which n is the parameter that nobody asks for, as in
`information` of a private number: F_θθ − F_θn F_nn⁻¹ F_nθ at the n that is assumed. That is linear in n: about E s the
count would get nothing. But an n that is off by a share δ scales the sum's errors by 1 + δ, and their variance by
1 + δ², so that the search looks at F/(1 + V/n²), with V the variance of the count's noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from confide.design.search.approximate import gaussian_information
from confide.design.search.family import Candidates, Floats, MeanFamily
from confide.design.search.tabulated import Tabulated, vector_moments
from confide.statistic import Statistic, Sum

#: logarithms of w in units of h: e⁻⁴ leaves the count 2% of an ε, e³ the sum 5%
_WEIGHTS = (-4.0, 3.0)


@dataclass(frozen=True, repr=False)
class SumsAndCount(MeanFamily):
    """The sums of a family's statistics beside a count, where the number of records is private."""

    of: MeanFamily
    #: whether the centre is chosen; the middle of the range serves Gaussian noise best
    moved: bool

    @property
    def name(self) -> str:  # type: ignore[override]
        """As that of means is."""
        return self.of.name

    def box(self, law: Tabulated) -> list[tuple[float, float]]:
        """What is free of s, the logarithm of w, and where in the range of s its centre lies."""
        inner = list(self.of.box(law))
        return [*inner, _WEIGHTS, *([(-1.0, 1.0)] if self.moved else [])] if inner else []

    def statistic(self, law: Tabulated, parameters: Floats) -> Statistic:
        """Count and sums, their centres and w with three digits."""
        inner, log_weight, centre = self._apart(np.asarray(parameters)[None])
        mean = self.of.statistic(law, inner[0])
        low, high = np.asarray(mean.ranges).T
        middle, half = 0.5 * (low + high), float(np.sqrt(np.sum((0.5 * (high - low)) ** 2)))
        weight = _three_digits(half * math.exp(float(log_weight[0])), half * math.exp(float(log_weight[0])))
        about = [_three_digits(float(m + centre[0] * half), half) for m in middle]
        texts = [_divided(str(s), c, weight) for s, c in zip(mean.transforms, about, strict=True)]
        return Sum(["1", *texts], bounds=mean.bounds)

    def values(self, law: Tabulated, parameters: Floats) -> Candidates:
        """(1, (s − c)/w) at the tabulated points."""
        inner, log_weight, centre = self._apart(parameters)
        found = self.of.values(law, inner)
        half = np.sqrt(np.sum((0.5 * (found.high - found.low)) ** 2, axis=1))
        weight = (np.where(half > 0, half, 1.0) * np.exp(log_weight))[:, None]
        about = 0.5 * (found.low + found.high) + (centre * half)[:, None]
        one = np.ones_like(weight)
        s = (found.s - about[..., None]) / weight[..., None]
        low, high = (found.low - about) / weight, (found.high - about) / weight
        return Candidates(
            np.concatenate([np.broadcast_to(one[..., None], s[:, :1].shape), s], axis=1),
            np.concatenate([one, low], axis=1),
            np.concatenate([one, high], axis=1),
        )

    def _apart(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """The family's own numbers, log w, and the centre in units of h from the middle."""
        own = parameters.shape[1] - 1 - self.moved
        centre = parameters[:, -1] if self.moved else np.zeros(len(parameters))
        return parameters[:, :own], parameters[:, own], centre


def _three_digits(value: float, size: float) -> float:
    """A number with three digits of a size."""
    return round(value, 2 - math.floor(math.log10(size)))


def _divided(text: str, centre: float, weight: float) -> str:
    """(s − c)/w as an expression."""
    inside = text if text.isidentifier() else f"({text})"
    moved = inside if centre == 0 else f"({inside} {'-' if centre > 0 else '+'} {abs(centre):.12g})"
    return moved if weight == 1 else f"{moved} / {weight:.12g}"


def totals_information(law: Tabulated, n: int, candidates: Candidates, ratio: float, *, laplace: bool) -> Floats:
    """F (B, M, d, d) about θ of noisy counts and sums at an assumed n; `ratio` is sensitivity over the noise's scale.

    The first component of a candidate counts. Laplace noise is taken for normal noise of its variance.
    """
    mean, slope, covariance, spread = vector_moments(law, candidates.s)
    variance = (_largest(candidates, 1 if laplace else 2) / ratio) ** 2 * (2.0 if laplace else 1.0)
    usable = np.all(candidates.high[:, 1:] > candidates.low[:, 1:], axis=1)
    size = mean.shape[-1]
    total = n * covariance + np.where(usable, variance, 1.0)[:, None, None] * np.eye(size)
    slopes = np.concatenate([n * slope, mean[..., None, :]], axis=2)
    spreads = np.concatenate([n * spread, covariance[:, :, None]], axis=2)
    whole = gaussian_information(slopes, total, spreads) / (1.0 + variance / n**2)[:, None, None]
    cross = whole[..., :-1, -1:]
    found = np.moveaxis(whole[..., :-1, :-1] - cross * np.swapaxes(cross, -1, -2) / whole[..., -1:, -1:], 1, 0)
    return np.where(usable[:, None, None, None], found, 0.0)


def _largest(candidates: Candidates, norm: int) -> Floats:
    """The largest norm that a record can have (B,): at an end of one sum's range, and else at a tabulated point."""
    ends = np.stack([candidates.low, candidates.high], axis=-1)
    at = ends if ends.shape[1] == 2 else candidates.s
    return np.asarray(np.linalg.norm(at, ord=norm, axis=1).max(axis=-1))
