"""The law of V = s(clip X) at one known θ, with derivatives in θ, in NumPy.

All that is compiled is a population's own functions (`tiles`) and the inverse of s, each in tiles of one size: they
serve every mechanism, rank, n and order of a rule. Numbers that have derivatives have them on a last axis of length
1 + d, after the number itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from confide._compile import FAST_COMPILE, on_the_cpu
from confide.expression.evaluate import evaluate
from confide.likelihood.value_law.quantile import FURTHER, LEVELS, LOWER, Ladder, expit
from confide.likelihood.value_law.value import TINY, Levels, Tails, TransformedLaw
from confide.population import tiles

Floats = NDArray[np.float64]


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _branches(law: TransformedLaw, v: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The inverse images of v, and |s'| there: (pieces, V) each."""
    x = law.preimages(v)
    return x, law.steepness(x)


def logit(tails: Tails) -> Floats:
    """The logit and its derivatives, held without any where a tail is nothing."""
    value = Tails(tails.below[..., 0], tails.above[..., 0]).logit()
    slopes = [np.where(part[..., :1] > TINY, part[..., 1:] / np.maximum(part[..., :1], TINY), 0.0) for part in tails]
    return np.concatenate([value[..., None], slopes[0] - slopes[1]], axis=-1)


class KnownSurvey(NamedTuple):
    """Values where the law is not smooth, and a ladder across it."""

    kinks: Floats
    ladder: Ladder


@dataclass(frozen=True, eq=False)
class KnownLaw:
    """A law at one θ (d,)."""

    law: TransformedLaw
    theta: Floats

    def levels(self, v: Floats, slopes: bool = False) -> Levels:
        """The distribution function at v (V,), numbers (V, 1) or with derivatives (V, 1 + d)."""
        return self._levels(v, self._branches(v)[0], slopes)

    def with_density(self, v: Floats, slopes: bool = False) -> tuple[Levels, Floats]:
        """The distribution function as above, and the density at v (V,)."""
        x, steep = self._branches(v)
        p = tiles.densities(self.law.population, x.ravel(), self.theta[None], alone=True)[0].reshape(x.shape)
        return self._levels(v, x, slopes), self.law.density_from(v, p, steep)

    def _branches(self, v: Floats) -> tuple[Floats, Floats]:
        """As compiled, in tiles of one size."""
        tiled = np.pad(v, (0, -v.size % tiles.ALONE), mode="edge").reshape(-1, tiles.ALONE)
        with on_the_cpu():
            found = [_branches(self.law, part) for part in tiled]
        x, steep = (np.concatenate([np.asarray(part) for part in parts], axis=1) for parts in zip(*found, strict=True))
        return x[:, : v.size], steep[:, : v.size]

    def _levels(self, v: Floats, x: Floats, slopes: bool) -> Levels:
        points, population = np.concatenate([self.law.knots, x.ravel()]), self.law.population
        both = [part[0][:, None] for part in tiles.tails(population, points, self.theta[None], alone=True)]
        if slopes:
            moved = tiles.tail_slopes(population, points, self.theta[None], alone=True)
            both = [np.concatenate([part, by[0]], axis=1) for part, by in zip(both, moved, strict=True)]
        return self.law.levels_from(v, *both)

    @cached_property
    def survey(self) -> KnownSurvey:
        """As `quantile.survey`, without derivatives."""
        law, population, theta = self.law, self.law.population, self.theta
        ends = population.facts.fixed_ends or population.support(theta)
        breaks = np.zeros(0) if population.closed.breaks is None else population.breaks(theta)
        kinks = np.concatenate([law.cuts, self._apply(np.concatenate([np.ravel(ends), breaks]))])
        x = tiles.quantiles(population, expit(LEVELS), theta)
        middle, last = x[LOWER.size - 1], x[-1]
        images = self._apply(np.concatenate([x, middle + (last - middle) * FURTHER]))
        rungs = np.concatenate([kinks, np.where(np.isnan(images), law.cuts[-1], images)])
        levels = self.levels(rungs)
        order = np.argsort(rungs, kind="stable")
        left, right = (logit(part)[order, 0] for part in (levels.strict, levels.weak))
        return KnownSurvey(kinks, Ladder(rungs[order], left, right))

    def _apply(self, x: Floats) -> Floats:
        """s(clip x), held in the range."""
        with np.errstate(all="ignore"):
            value = evaluate(self.law.tree, np.clip(x, self.law.knots[0], self.law.knots[-1]))
        return np.clip(value + np.zeros(x.shape), self.law.cuts[0], self.law.cuts[-1])

    def quantile(self, zeta: Floats) -> Floats:
        """Q(ζ), for ζ of any shape."""

        def without_slopes(v: Floats) -> tuple[Levels, Floats]:
            levels, steep = self.with_density(v)
            strict, weak = (Tails(each.below[:, 0], each.above[:, 0]) for each in (levels.strict, levels.weak))
            return Levels(strict, weak, levels.rounding[:, 0]), steep

        found = self.survey.ladder.root(without_slopes, zeta.ravel())
        return np.asarray(found).reshape(zeta.shape)
