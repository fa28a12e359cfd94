"""Batches of records published together: each channel is chosen by the posterior of all batches before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide._precision import float64
from confide.channel import Channel
from confide.design.choosing import best_at, posterior_points
from confide.design.criteria import CRITERIA, Criterion, inverse
from confide.design.optimizing import found_at
from confide.design.points import Points, prior_points
from confide.design.search.family import Family
from confide.mechanism import Gaussian, Laplace
from confide.model import Model
from confide.population import Population
from confide.posterior import Posterior
from confide.prior import Prior
from confide.privacy import Privacy, PureDP
from confide.published import Release
from confide.statistic import Statistic

Floats = NDArray[np.float64]


class Batches:
    """What was published, and how the next channel is found: among statistics that were given, or by `optimize`."""

    def __init__(
        self, population: Population, prior: Prior, privacy: Privacy, families: Sequence[Family] | None,
        candidates: tuple[Statistic, ...] | None, weights: Floats | None, thompson: bool,
    ) -> None:  # fmt: skip
        self.population, self.prior, self.privacy = population, prior, privacy
        self.families, self.candidates, self.thompson = families, candidates, thompson
        self.weights = weights
        self.releases: list[Release] = []

    @float64
    def channel(self, n: int, uniform: float) -> Channel:
        """What is published of the next n records."""
        at = self._points(uniform)
        criterion = CRITERIA["expected_variance"]
        if self.population.dimension > 1:
            # the prior and the posterior both say how well they know each parameter
            assert at.precision is not None
            criterion = _weighed(at.precision if self.weights is None else self.weights)
        if self.candidates is None:
            return found_at(self.population, at, self.privacy, n, self.families, criterion)
        channels = [self.with_noise(each, n) for each in self.candidates]
        models = [Model(self.population, each) for each in channels]
        return channels[best_at(at, models, criterion)]

    def with_noise(self, statistic: Statistic, n: int) -> Channel:
        """A statistic of n records, with noise for the guarantee."""
        return Channel(statistic, (Laplace if isinstance(self.privacy, PureDP) else Gaussian)(self.privacy), n)

    def _points(self, uniform: float) -> Points:
        """θ that stand for the posterior, with equal weights, and what it knows of each parameter."""
        if not self.releases:
            return prior_points(self.prior)
        models = [Model(self.population, each.channel) for each in self.releases]
        values = [np.asarray(each.value)[None] for each in self.releases]
        thetas = posterior_points(models, values, self.prior)[0]
        known = 1.0 / np.var(thetas, axis=0)
        if self.thompson:
            thetas = thetas[[min(int(uniform * len(thetas)), len(thetas) - 1)]]
        return Points(thetas, np.full(len(thetas), 1.0 / len(thetas)), precision=known)

    def learn(self, release: Release) -> None:
        """Take note of a release."""
        self.releases.append(release)

    @float64
    def moments(self) -> tuple[Floats, Floats]:
        """The posterior mean and standard deviations; the prior's by its points."""
        if not self.releases:
            draws = np.asarray(self.prior.probes)
            return np.median(draws, axis=0), np.subtract(*np.quantile(draws, [0.84, 0.16], axis=0)) / 2
        found = self.posterior(self.releases, 0)
        return tuple(  # type: ignore[return-value]
            np.concatenate([np.ravel(each) for each in part.values()]) for part in (found.mean, found.sd)
        )

    def posterior(self, releases: Sequence[Release], key: Any) -> Posterior:
        """By `infer`."""
        from confide.inference import infer

        found: Posterior = infer(self.population, list(releases), self.prior, same_records=False, key=key)
        return found


def _weighed(weights: Floats) -> Criterion:
    """tr W (F + J)⁻¹ in place of tr (F + J)⁻¹."""
    return replace(
        CRITERIA["expected_variance"],
        score=lambda matrices: np.einsum("...ii,i->...", inverse(matrices), weights),
        slope=lambda matrices: np.einsum("...ai,i,...ib->...ab", inverse(matrices), weights, inverse(matrices)),
    )
