"""The likelihood of a number that was clamped, rounded or left out: the probability of what the noisy number was in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import jax
import numpy as np

from confide.errors import IncompatibleError
from confide.likelihood.cumulative import tails
from confide.likelihood.noise.between import ends_on
from confide.likelihood.route import Derived, Floats, Route, require_finite
from confide.model import Model
from confide.processing import Processed


@dataclass(frozen=True)
class Censored(Derived):
    """Another route's law of one number Y, of which it is known only where it lies.

    An exact number has the route's density. Otherwise P(low ≤ Y < high) is a difference of two tails, of those on the
    side where they are small.
    """

    inner: Route
    processed: Processed

    @property
    def for_many_thetas(self) -> bool:  # type: ignore[override]
        """Tails of many θ share their panels."""
        return True

    def refuses(self, model: Model) -> str | None:
        """One number with noise that is added."""
        if model.channel.value_shape != () or model.channel.law.added is None:
            return "only one number with Laplace or Gaussian noise is read where it was clamped, rounded or left out"
        return self.inner.refuses(model)

    def impossible(self, model: Model, values: Any) -> str | None:
        """Exact numbers as the route has it; of others nothing is impossible."""
        exact = [each for each in np.ravel(values) if self.processed.lies(float(each)) is None]
        return self.inner.impossible(model, np.asarray(exact)) if exact else None

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> NoReturn:
        """Refused: tails are computed for known numbers."""
        raise IncompatibleError(
            "what was clamped, rounded or left out has a likelihood for one or two parameters, which are integrated; "
            "it has none inside a chain"
        )

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Floats:
        """log p(y | θ) of exact numbers, log P(Y between two numbers | θ) of others."""
        thetas, columns = np.asarray(thetas), []
        for value in np.asarray(values):
            between = self.processed.lies(float(value))
            if between is None:
                columns.append(self.inner.log_likelihood(model, thetas, value[None])[:, 0])
                continue
            with np.errstate(divide="ignore"):
                columns.append(np.log(self._probability(model, thetas, *between)))
        return require_finite(model, thetas, values, np.stack(columns, axis=1))

    def information(self, model: Model, thetas: Any) -> NoReturn:
        """Refused: information is asked of a channel, which processes nothing."""
        raise IncompatibleError("the information of clamped or rounded numbers is not computed; ask it of the channel")

    def _probability(self, model: Model, thetas: Floats, low: float, high: float) -> Floats:
        """P(low ≤ Y < high | θ); with ≤ where high is an end that numbers were clamped to."""
        noise = model.channel.law.added
        step = None if noise is None or noise.step is None else float(noise.step)
        closed = self.processed.lies(high) == (low, high)  # clamped to it: the end itself is in
        (first, last), apart = ends_on(step, low, high, closed=closed), step or 0.0
        asked = np.asarray([last, first, first - apart, last + apart])
        known = np.isfinite(asked)
        below, above = np.zeros((len(thetas), 4)), np.zeros((len(thetas), 4))
        below[:, known], above[:, known] = tails(self.inner, model, thetas, asked[known])
        if not np.isfinite(low):
            return below[:, 0]
        if not np.isfinite(high):
            return above[:, 1]
        # from below or from above: whichever tails are smaller
        from_below, from_above = below[:, 0] - below[:, 2], above[:, 1] - above[:, 3]
        return np.maximum(np.where(below[:, 0] < above[:, 1], from_below, from_above), 0.0)
