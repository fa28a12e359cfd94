"""What stands beside a posterior's draws: draws of the prior, what was published, and what might have been."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from confide._precision import float64
from confide._random import as_key
from confide.clipping import releases_of
from confide.missing import asked_for, with_missing
from confide.model import Model

if TYPE_CHECKING:
    from confide.posterior import Posterior


@float64
def groups(posterior: Posterior, *, predictive: bool) -> dict[str, Any]:
    """The groups `prior`, `observed_data` and `posterior_predictive` of an ArviZ object, releases counted from 0."""
    shape = next(iter(posterior.draws.values())).shape[:2]
    key = as_key(0)
    found: dict[str, Any] = {"prior": {name: np.asarray(each) for name, each in _prior(posterior, key, shape).items()}}
    if posterior.call is None:
        return found
    releases: Sequence[Any] = releases_of(posterior.call)
    found["observed_data"] = {f"release_{i}": np.asarray(each.value) for i, each in enumerate(releases)}
    if predictive:
        population = posterior.call.arguments["population"]
        if asked_for(population, posterior.call.arguments["prior"]):
            population, releases = with_missing(population, releases)
        models = [Model(population, each.channel) for each in releases]
        found["posterior_predictive"] = {
            f"release_{i}": np.asarray(model.simulate(jax.random.fold_in(key, i), posterior.theta))
            for i, model in enumerate(models)
        }
    return found


def _prior(posterior: Posterior, key: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    named: dict[str, Any] = posterior.prior.by_name(posterior.prior.sample(key, shape))
    return named
