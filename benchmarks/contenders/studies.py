"""Studies of 500 releases as a user asks for one: of a mean that is hardly clipped, of one that is, and of a median."""

from __future__ import annotations

from typing import Any

import numpyro.distributions as dist

import confide as cf
from benchmarks.contenders import Run, Truth

RELEASES = 500


def unclipped(problem: Any, truth: Truth | None) -> Run:
    """A mean of records that are hardly clipped."""
    del problem, truth
    return _study(cf.Channel(cf.Mean("x", bounds=(-8, 8)), cf.Laplace(cf.PureDP(1.0)), n=100))


def clipped(problem: Any, truth: Truth | None) -> Run:
    """A mean of records of which many are clipped, at most θ of the prior nearly all."""
    del problem, truth
    return _study(cf.Channel(cf.Mean("x", bounds=(-1, 2)), cf.Laplace(cf.PureDP(1.0)), n=100))


def exponential_median(problem: Any, truth: Truth | None) -> Run:
    """A median by the exponential mechanism, whose likelihood is simulated."""
    del problem, truth
    return _study(cf.Channel(cf.Median("x", bounds=(-3, 3)), cf.Exponential(cf.PureDP(1.0)), n=101))


def _study(channel: cf.Channel) -> Run:
    prior = {"mean": dist.Normal(0.0, 1.0)}
    return lambda key: cf.study(
        cf.populations.normal_mean(), {"study": channel}, prior=prior, releases=RELEASES, key=key
    )
