"""One noisy value per record (Sec 3.4, 5.5): p(y₁ … yₙ | θ) = Π_t p(y_t | θ), each factor an integral over one record.

    p(y | θ) = E g(y | s(clip X)) ≈ Σ_j w_j(θ) g(y | s_j)

with g the density of the noise and w_j, s_j the law of a clipped record, on one of three kinds of nodes:

* *moving* panels, where θ is traced, or an end of the support or a kink of the density depends on it
  (`records_density`).
* *still* panels, where the θ are known and the density is smooth in them: a matrix that all θ share (`shared_nodes`).
* the *points* of a discrete record; and the *level sets* of s where the noise lives on a lattice, to which s is first
  rounded. They are still too.

Values by the thousand are binned (`binned`); after that a θ costs the same however many there are. The information is
integrated over y (`records_information`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from confide.errors import IncompatibleError, InvalidArgument
from confide.likelihood.completed import Completed
from confide.likelihood.local import records_information
from confide.likelihood.local.binned import Binned, bin_values, count_values
from confide.likelihood.local.density import log_density
from confide.likelihood.local.noisy_record import Moving, NoisyRecord, local
from confide.likelihood.local.records_information import TAIL, spread
from confide.likelihood.local.shared_nodes import SharedNodes
from confide.likelihood.record_law.record import Floats
from confide.likelihood.route import Route, require_finite
from confide.likelihood.score_integral import Told

if TYPE_CHECKING:
    from confide.model import Model

#: from this many values on, values at known θ are binned
BINNED_FROM = 4096
_MOST_THETAS, _MOST_INFORMATION, _ENTRIES = 2048, 256, 4_000_000


@dataclass(frozen=True)
class PerRecord(Route):
    """`Each` with additive noise, and any scalar statistic of a single record, exact up to quadrature.

    Wherever a value is expected `Binned` ones may be given (see `binned`). From 4,096 values on, `log_likelihood`
    bins them by itself, unless p(y | θ) has a kink in y that moves with θ: Laplace noise on a population whose support
    or density has an end or a kink that does.

    >>> from confide import populations
    >>> from confide.channel import Channel
    >>> from confide.mechanism import Laplace
    >>> from confide.model import Model
    >>> from confide.privacy import PureDP
    >>> from confide.statistic import Each
    >>> model = Model(populations.normal_variance(), Channel(Each("x**2", (-10, 10)), Laplace(PureDP(0.5)), n=100))
    >>> with jax.enable_x64(True):
    ...     print(PerRecord().information(model, [[2.0]]).round(5))
    [[[0.00244]]]
    """

    name = "records"
    error = "none beyond quadrature: below 1e-9, relative"
    for_many_thetas = True

    def refuses(self, model: Model) -> str | None:
        """Why not, in words."""
        statistic, law, n = model.channel.statistic, model.channel.law, model.channel.n
        if not statistic.per_record and n > 1:
            return (
                f"records needs a value per record, but {statistic} is one value of {n} records; use spectral or "
                "normal for a Mean, order or pool for an order statistic"
            )
        if statistic.dimension > 1:
            return "records needs a scalar statistic; use normal for a vector with Gaussian noise, or latent methods"
        if law.noiseless:
            return "records needs noise: without it a value has no density given the record; use Laplace or Gaussian"
        if law.answers is not None:
            return "records needs noise that is added; use response for randomized response"
        if statistic.ranked and law.added is None:
            return "records needs noise that does not depend on the records; use pool for this mechanism"
        return None

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array | Binned) -> jax.Array:
        """log p(y | θ), traceable in θ, a batch of values at a time; of the first data set where values are binned."""
        one = local(model)
        y = jnp.asarray(value.nodes if isinstance(value, Binned) else value).reshape(-1)
        each = log_density(one.population, one.statistic, one.changes, one.law, one.record, theta, y)
        return jnp.asarray(value.total(each)[0]) if isinstance(value, Binned) else each.sum()

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Float[Floats, "thetas values"]:
        """log p(y | θ) for known θ (M, d) and values (Y, n), or binned ones: shape (M, Y)."""
        one, thetas = local(model), _as_thetas(model, thetas)
        if not isinstance(values, Binned):
            values = _on_lattice(one, np.asarray(values, dtype=float).reshape(len(values), -1))
            if values.size >= BINNED_FROM and _can_bin(one):
                values = self.tabulate(model, values, thetas)
        blocks = np.split(thetas, range(_MOST_THETAS, len(thetas), _MOST_THETAS))
        found = np.concatenate([_log_likelihood(one, block, values) for block in blocks])
        return found if isinstance(values, Binned) else require_finite(model, thetas, values, found)

    def completed(self, model: Model, theta: Any, value: Any) -> Completed:
        """Each noisy value shared out among the nodes that its record may have been at."""
        one, y = local(model), np.asarray(value, dtype=float).reshape(-1)
        if not one.still:
            raise IncompatibleError(
                f"the support or a kink of {one.population.name} moves with its parameters, so that no fixed nodes "
                "hold the records that EM completes; use maximize='newton'"
            )
        low, high = one.statistic.range
        densities = one.densities(_as_thetas(model, theta), max(y.max() - high, low - y.min(), 0.0))
        assert isinstance(densities, SharedNodes)
        return Completed(densities.law, densities.expected(y))

    def tabulate(self, model: Model, values: Any, thetas: Any) -> Binned:
        """The values (n,) or (Y, n) binned, so that the log-likelihood costs the same for every n.

        log p(y | θ) is resolved to 1e-11 per value at all the given θ (M, d), and at others where it is as smooth in y.
        Of more than 2,048 θ only so many are looked at, evenly spaced.
        """
        one, thetas = local(model), _as_thetas(model, thetas)
        thetas = thetas[np.unique(np.linspace(0, len(thetas) - 1, _MOST_THETAS).astype(int))]
        if not _can_bin(one):
            raise IncompatibleError(
                f"values of {one.population.name} under {type(one.law).__name__} cannot be binned: log p(y | θ) is not "
                "smooth in y at places that depend on θ, or are not known; use the values as they are"
            )
        values = _on_lattice(one, np.atleast_2d(np.asarray(values, dtype=float)))
        if one.noise.step is not None:
            return count_values(one.noise, values)
        low, high = one.statistic.range
        densities = one.densities(thetas, max(values.max() - high, low - values.min(), 0.0))
        if one.noise.exponential:
            return bin_values(densities, one.breaks(densities), 1.0 / one.noise.scale, values)
        return bin_values(densities, spread(one.noise, values.min(), values.max()), 0.0, values)

    def told(self, model: Model, thetas: Any) -> Iterator[list[Told]]:
        """On panels of y that are halved until what they tell stands still."""
        one, thetas = local(model), _as_thetas(model, thetas)
        size = _MOST_INFORMATION if one.still else 1
        for batch in np.split(thetas, range(size, len(thetas), size)):
            yield from records_information.told(one, one.densities(batch, TAIL * one.noise.scale))


def _as_thetas(model: Model, thetas: Any) -> Floats:
    return np.ascontiguousarray(np.asarray(thetas, dtype=float).reshape(-1, model.population.dimension))


def _can_bin(one: NoisyRecord) -> bool:
    """Whether the places where log p(y | θ) is not smooth in y are the same for all θ."""
    return one.law.added is not None and (one.still or not one.noise.exponential)


def _on_lattice(one: NoisyRecord, values: Floats) -> Floats:
    """The values, refused if the mechanism cannot have published them."""
    if one.law.added is not None and one.noise.step is not None:
        position = values / one.noise.step
        off = np.abs(position - np.floor(position + 0.5)) > 1e-9 + 4 * np.finfo(float).eps * np.abs(position)
        if np.any(off):
            problem = f"is not a multiple of the step {one.noise.step:g}"
            raise InvalidArgument("value", float(values[off][0]), problem, "give what was published")
    return values


def _log_likelihood(one: NoisyRecord, thetas: Floats, values: Floats | Binned) -> Floats:
    """Σ_t log p(y_t | θ), shape (θ, data sets), a block of values at a time."""
    y = values.nodes if isinstance(values, Binned) else values
    low, high = one.statistic.range
    densities = one.densities(thetas, max(y.max() - high, low - y.min(), 0.0))

    def log_prob(y: Floats) -> Floats:
        """Where all mass is so far from y that it underflows, in logarithms, θ by θ."""
        log_p = densities.log_prob(y)
        return log_p if np.all(np.isfinite(log_p)) else Moving(one, thetas).log_prob(y)

    if isinstance(values, Binned):
        return np.asarray(values.total(log_prob(values.nodes)))
    total = np.zeros((len(thetas), len(values)))
    size = max(1, _ENTRIES // total.size)
    for at in range(0, values.shape[1], size):
        some = values[:, at : at + size]
        total += log_prob(some.ravel()).reshape(*total.shape, -1).sum(axis=-1)
    return total
