"""The likelihood of one release of a private number of records: its own count and a flat prior say what n is."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import jax
import numpy as np

from confide.errors import ApproximationWarning, IncompatibleError, InvalidArgument
from confide.likelihood.route import Floats, Route, require_finite
from confide.likelihood.totals.cells import PrivateCells
from confide.likelihood.totals.number import FLAT, NumberPrior, one_each_of_a_number
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
    """Σ_n π(n) p(y | n, θ) of one release that counts its records, or of one of which n has a proper prior."""

    name = "numbers"
    error = "none (checked); of the CLT for several sums, and where few records count whose transform does not decay"
    #: π(n): flat where nothing else is given
    prior: NumberPrior = FLAT

    def refuses(self, model: Model) -> str | None:
        """Without a count and without a prior nothing says what n is."""
        if model.channel.n is not None:
            return "it is for a private number of records"
        try:
            self._law(model)
        except IncompatibleError as error:
            return str(error)
        return None

    def _law(self, model: Model) -> PrivateNumber | PrivateCells:
        """The law of whatever is published."""
        with jax.ensure_compile_time_eval():
            return private_law((model,), (np.zeros(model.channel.value_shape),), self.prior)

    def stands_in(self, model: Model) -> bool:
        """Whether the normal law stands in for that of the sums."""
        return not self._law(model).exact

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """Inside a trace, where the n that count follow what is traced."""
        return self._law(model).inside_a_trace(theta, value)

    def simulate(self, model: Model, key: jax.Array, thetas: jax.Array) -> jax.Array:
        """One published value per θ, each of a number of records drawn from its prior."""
        return one_each_of_a_number(model, self.prior, key, thetas)

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Floats:
        """log p(y | θ) for all θ and values; where the normal law stands in, with a warning."""
        laws = [private_law((model,), (value,), self.prior) for value in np.asarray(values)]
        each, approximate = zip(*(law.with_approximate(thetas, ()) for law in laws), strict=True)
        if np.any(approximate):
            told = f"{np.sum(approximate):,} of {np.size(approximate):,} likelihoods of {model.channel.statistic}"
            words = "the normal law stands in for that of the records, and its error is not known"
            warnings.warn(f"in {told} {words}", ApproximationWarning, stacklevel=4)
        return require_finite(model, thetas, values, np.stack(each, axis=1))

    def information(self, model: Model, thetas: Any) -> NoReturn:
        """Refused: n is assumed for that."""
        raise IncompatibleError("the information of a private number of records needs one that is assumed: give n")


def over_numbers(model: Model, route: str | Route, n: Any, stacklevel: int) -> tuple[Model, Route]:
    """The model and the route of somebody's own model, in which n has a prior, or is assumed."""
    from confide.likelihood import choose_aloud, choose_route

    if model.channel.n is not None:
        raise InvalidArgument("n", n, f"is given, but the channel's {model.channel.n:,} is public", "leave n out")
    number = NumberPrior.of(n)
    statistic = model.channel.statistic
    counted = any(low == high for low, high in statistic.ranges)
    if isinstance(number.law, int) and (statistic.tallies or not counted):  # routes for a public n
        assumed = model.assuming(number.law)
        return assumed, choose_aloud(assumed, route, stacklevel + 1)
    chosen = choose_route(model, OverNumbers(number) if route in ("auto", OverNumbers.name) else route)
    if route == "auto" and isinstance(chosen, OverNumbers) and chosen.stands_in(model):
        words = "the normal law stands in for that of the records, and its error is not known"
        told = f"for {model.channel.statistic} {words}; route='numbers' takes that without a warning"
        warnings.warn(told, ApproximationWarning, stacklevel=stacklevel)
    return model, chosen
