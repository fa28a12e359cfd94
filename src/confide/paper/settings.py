"""The paper's settings, and what the experiments share."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpyro.distributions as dist

import confide as cf
from confide.design.studies.study_cache import StudyCache

#: records, the bound of |x|, and the true variance of Sec 5.1 to 5.4
N, BOUND, TRUTH = 100, 10.0, 2.0
#: the grid of Sections 5.1 and 5.2; 5.1 has ∞ besides
LEVELS = (*np.arange(0.25, 5.01, 0.25).tolist(), *np.arange(5.5, 10.01, 0.5).tolist())
#: the prior of the reproduction: the paper's "flat prior" is improper (erratum 2)
ENDS = (0.01, 60.0)
VARIANCE = cf.populations.normal_variance()
POWERS = {1: "abs(x)", 2: "x**2"}
NAMES = {1: "mean of |x|", 2: "mean of x²"}


def prior() -> dict[str, Any]:
    """Uniform on (0.01, 60)."""
    return {"variance": dist.Uniform(*ENDS)}


def mean(power: int, mechanism: cf.Mechanism, *, n: int = N) -> cf.Model:
    """The mean of |x|^power over records clipped to ±10, of a normal population of unknown variance."""
    statistic = cf.Mean(POWERS[power], bounds=(-BOUND, BOUND))
    return cf.Model(VARIANCE, cf.Channel(statistic, mechanism, n))


def gaussian(level: float) -> cf.Mechanism:
    """ε-GDP noise, or none for ε = ∞."""
    return cf.Noiseless() if math.isinf(level) else cf.Gaussian(cf.GDP(level))


def laplace(level: float) -> cf.Mechanism:
    """Laplace noise for ε."""
    return cf.Laplace(cf.PureDP(level))


def cell(what: str) -> Callable[[Callable[..., Mapping[str, Any]]], Callable[..., dict[str, Any]]]:
    """Keep what a function computes in `cells`, which it is then called with: under `what` and its other arguments."""

    def keep(compute: Callable[..., Mapping[str, Any]]) -> Callable[..., dict[str, Any]]:
        signature = inspect.signature(compute)

        @functools.wraps(compute)
        def numbers(*given: Any, cells: StudyCache, **options: Any) -> dict[str, Any]:
            asked = signature.bind(*given, **options)
            asked.apply_defaults()
            return kept(cells, {"what": what, **asked.arguments}, lambda: compute(*given, **options))

        return numbers

    return keep


def kept(cells: StudyCache, settings: Mapping[str, Any], compute: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """The numbers of a cell: from disk if it was finished before, else computed and kept."""
    import json

    text = json.dumps(dict(settings), sort_keys=True, default=lambda each: np.asarray(each).tolist())
    numbers = cells.read(text)
    if numbers is None:
        numbers = {name: np.asarray(value).tolist() for name, value in compute().items()}
        cells.write(text, numbers)
    return {name: np.asarray(value) if isinstance(value, list) else value for name, value in numbers.items()}
