"""The likelihood of one release of a private number of records: its own count and a flat prior say what n is."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import jax
import numpy as np

from confide.errors import ApproximationWarning, IncompatibleError
from confide.likelihood.route import Floats, Route, require_finite
from confide.likelihood.totals.cells import PrivateCells
from confide.likelihood.totals.number import NumberPrior
from confide.likelihood.totals.private import PrivateNumber
from confide.model import Model


def private_law(models: Sequence[Model], values: Sequence[Any], prior: NumberPrior) -> PrivateNumber | PrivateCells:
    """The law of releases of the same records, whose number is private: of counts and sums, or of one histogram."""
    if not any(model.channel.statistic.tallies for model in models):
        return PrivateNumber(tuple(models), tuple(values), prior)
    if len(models) > 1:
        raise IncompatibleError(
            "a histogram of a private number of records has no joint law with other releases of them; infer from it "
            "alone, which says how many records there are, or denoise it with them as totals"
        )
    return PrivateCells(models[0], values[0], prior)


@dataclass(frozen=True)
class OverNumbers(Route):
    """Σ_n p(y | n, θ) of one release that counts its records, with a flat prior of n; `infer` takes any other."""

    name = "numbers"
    error = "none (checked); of the CLT for several sums, and where few records count whose transform does not decay"

    def refuses(self, model: Model) -> str | None:
        """Without a count nothing says what n is."""
        if model.channel.n is not None:
            return "it is for a private number of records"
        try:
            private_law((model,), (np.zeros(model.channel.value_shape),), NumberPrior())
        except IncompatibleError as error:
            return str(error)
        return None

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> NoReturn:
        """Refused: which n count is decided by known numbers."""
        raise IncompatibleError(
            "the likelihood of a private number of records is computed for known values, not inside another program; "
            "use infer, or log_likelihood outside of jit"
        )

    def traced(self, model: Model, thetas: jax.Array, values: jax.Array) -> NoReturn:
        """Refused likewise."""
        self.log_prob(model, thetas, values)

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Floats:
        """log p(y | θ) for all θ and values; where the normal law stands in, with a warning."""
        laws = [private_law((model,), (value,), NumberPrior()) for value in np.asarray(values)]
        each, approximate = zip(*(law.with_approximate(thetas, ()) for law in laws), strict=True)
        if np.any(approximate):
            told = f"{np.sum(approximate):,} of {np.size(approximate):,} likelihoods of {model.channel.statistic}"
            words = "the normal law stands in for that of the records, and its error is not known"
            warnings.warn(f"in {told} {words}", ApproximationWarning, stacklevel=4)
        return require_finite(model, thetas, values, np.stack(each, axis=1))

    def information(self, model: Model, thetas: Any) -> NoReturn:
        """Refused: n is assumed for that."""
        raise IncompatibleError("the information of a private number of records needs one that is assumed: give n")
