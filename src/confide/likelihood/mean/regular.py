"""Whether several means have a density together where no noise keeps them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from confide.errors import IncompatibleError
from confide.likelihood.record_law.moments import law_for, moments_at

if TYPE_CHECKING:
    from confide.model import Model

#: the least eigenvalue of a matrix of correlations: what depends on others leaves some 1e-16 of rounding
_SINGULAR = 1e-12


def require_regular(model: Model, thetas: Any) -> None:
    """Refuse several means without noise of which one follows from others: they have no density together.

    >>> import confide as cf
    >>> twice = cf.Channel(cf.Mean(["x", "1 - 2 * x"], bounds=(0, 1)), cf.Noiseless(), n=100)
    >>> cf.Model(cf.populations.beta(), twice).log_likelihood([2.0, 3.0], [0.4, 0.2], route="normal")
    Traceback (most recent call last):
    ...
    confide.errors.IncompatibleError: the covariance of the mean of (x, 1 - 2 * x) ... is singular at theta (2.0, ...
    """
    statistic = model.channel.statistic
    if statistic.dimension == 1 or not model.channel.law.noiseless:
        return
    thetas = np.asarray(thetas, dtype=np.float64).reshape(-1, model.population.dimension)
    _, covariance = moments_at(law_for(model.population, statistic, thetas), thetas)
    spread = np.sqrt(np.maximum(np.einsum("mii->mi", covariance), 0.0))
    scaled = covariance / np.where(spread > 0, spread, 1.0)[:, :, None] / np.where(spread > 0, spread, 1.0)[:, None, :]
    singular = np.linalg.eigvalsh(np.nan_to_num(scaled))[:, 0] < _SINGULAR
    if np.any(singular):
        raise IncompatibleError(
            f"the covariance of {statistic} is singular at theta {tuple(thetas[np.argmax(singular)].tolist())}: a "
            "component is a constant there or follows from the others, so that without noise they have no density "
            "together; leave that component out, or publish with noise"
        )
