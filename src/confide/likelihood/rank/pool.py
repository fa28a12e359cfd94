"""The pool route: order statistics whose noise depends on the records next to them.

Smooth sensitivity and the exponential mechanism look at a window of ranks around the order statistic (Sec 5.4 of the
paper), so that p(y | θ) is an integral over windows, E g(y | window). It is estimated from one pool of simulated
windows with common random numbers: the same pool, on the uniform scale, serves every θ and every y, so that the
estimate is a deterministic, smooth function of θ, and comes with its Monte Carlo error. `window` simulates,
`pool_density` averages and differentiates, `pool_information` integrates over y.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from confide._compile import IN_PARTS
from confide._progress import progress
from confide._random import as_key, fused_key
from confide.errors import IncompatibleError
from confide.likelihood.rank import running_sums
from confide.likelihood.rank.pool_density import (
    WindowModel,
    below,
    log_density,
    log_density_error,
    log_sums,
    still_table,
)
from confide.likelihood.rank.pool_information import pool_information
from confide.likelihood.rank.window import Ranks, WindowPool, simulate_pool
from confide.likelihood.route import Floats, Route, require_finite
from confide.likelihood.value_law.steps import MOST_STEPS, discrete_law
from confide.likelihood.value_law.value import transformed_law
from confide.mechanism.exponential import ExponentialLaw
from confide.statistic.transform import Function

if TYPE_CHECKING:
    from confide.model import Model

#: windows of a pool: an information squares the error of a score, a posterior does not
_FOR_INFORMATION, _FOR_A_POSTERIOR = 2**14, 2**13
#: seconds to simulate one rank of one window, on one core
_PER_RANK = 1.7e-7

#: windows of a batch that one call averages over: one program serves pools of every size
_TOGETHER = 32
#: how many times fewer windows tell where a posterior lies, and may be enough for it
_FOR_A_LOOK, _AT_FIRST = 8, 4

_still_table = jax.jit(still_table, compiler_options=IN_PARTS)
_log_sums = jax.jit(log_sums, compiler_options=IN_PARTS)
_below = jax.jit(below, compiler_options=IN_PARTS)
_log_density_error = jax.jit(log_density_error, compiler_options=IN_PARTS)


@dataclass(frozen=True)
class Pool(Route):
    """p(y | θ) from `size` simulated windows; the same `key` gives the same windows.

    >>> Pool(size=1000)
    Pool(size=1000, key=0)
    """

    size: int = _FOR_INFORMATION
    key: int = 0
    #: only the first of so many parts of each batch is averaged over
    parts: int = field(default=1, repr=False)

    name = "pool"
    error = "Monte Carlo, known (log_prob_with_error)"
    simulated = True
    for_many_thetas = True
    dear = True

    def refuses(self, model: Model) -> str | None:
        """What is not an order statistic, or cannot be read."""
        statistic, law = model.channel.statistic, model.channel.law
        if not statistic.ranked:
            return "the pool route serves Maximum, Minimum, Median and Quantile; use route 'spectral' or 'records'"
        if not (law.smooths or law.selects or law.added is not None):
            return "the pool route serves mechanisms with noise on a window of ranks; use SmoothLaplace or Exponential"
        if law.added is not None and law.added.step is not None:
            return "noise on a lattice is summed exactly; use route 'order'"
        if isinstance(statistic.transforms[0], Function):
            return "the monotone pieces of a Python function cannot be read; write the statistic as an expression"
        low, high = statistic.bounds
        if model.population.discrete and high - low > MOST_STEPS:
            return f"there are more than {MOST_STEPS:,} integers inside the bounds; narrow them, or use latent methods"
        return None

    def _require_score(self, model: Model) -> None:
        """Refuse derivatives that windows do not know, neither pathwise nor by their score."""
        if model.population.moving and not window_model(model).continuous:
            raise IncompatibleError(
                "the density given the records jumps, and the population's support depends on its parameters, so that "
                "windows have no score: there is no derivative in theta, and no information; use SmoothLaplace or "
                "SmoothCauchy, or method 'grid' of infer, which needs neither"
            )

    def impossible(self, model: Model, values: Any) -> str | None:
        """The exponential mechanism publishes a point of the range."""
        law: Any = model.channel.law
        if law.selects and np.any((np.asarray(values) < law.low) | (np.asarray(values) > law.high)):
            return f"is outside the range ({law.low:g}, {law.high:g}) of the exponential mechanism"
        return super().impossible(model, values)

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """log p(y | θ), the log of the mean over the pool, inside a trace."""
        self._require_score(model)
        return log_density(window_model(model), theta, self.pool(model), jnp.reshape(value, (1,)))[0]

    def log_prob_with_error(self, model: Model, theta: Any, value: Any) -> tuple[jax.Array, jax.Array]:
        """log p(y | θ) and its Monte Carlo standard error, for values (…) at one θ."""
        values = jnp.asarray(value, dtype=jnp.float64)
        found = _log_density_error(window_model(model), jnp.asarray(theta), self.pool(model), values.ravel())
        return found[0].reshape(values.shape), found[1].reshape(values.shape)

    def traced(self, model: Model, thetas: jax.Array, values: jax.Array) -> jax.Array:
        """All θ against all values inside a trace: the windows are made once per θ."""
        self._require_score(model)
        prepared, pool = window_model(model), self.pool(model)
        return jax.lax.map(lambda theta: log_density(prepared, theta, pool, values), thetas)

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Float[Floats, "thetas values"]:
        """All θ (M, d) against all values (Y,): the windows are made once per θ."""
        return over_batches(model, thetas, values, self.by_batch(model, thetas, values))

    def by_batch(self, model: Model, thetas: Any, values: Any) -> np.ndarray:
        """The logs of the means over each batch of windows (M, Y, batches): their spread is the error of p(y | θ)."""
        prepared, y = window_model(model), np.asarray(values)
        if running_sums.tells_nothing(prepared.law):
            return running_sums.flat_log_batches(cast(ExponentialLaw, prepared.law), np.asarray(thetas), y)
        pool = self.pool(model)
        if running_sums.serves(prepared.law):
            return running_sums.running_log_batches(prepared, np.asarray(thetas), pool, y)
        some, length = _together(pool), pool.log_weight.shape[-1]
        # arrays of θ are filled up with equal ones; and NumPy stacks without a program for every number of them
        different, where = np.unique(np.asarray(thetas), axis=0, return_inverse=True)
        found = []
        for theta in progress(different, "simulated windows"):
            table = _still_table(prepared, theta, pool.low, pool.high)
            sums = [np.asarray(_log_sums(prepared, table, *each, y)) for each in some]
            found.append(logsumexp(np.stack(sums), axis=0) - np.log(length))
        return np.stack(found)[where.ravel()]

    def tails(self, model: Model, thetas: Any, values: Any) -> tuple[Floats, Floats] | None:
        """The mean over all windows of P(Y ≤ y | window), within the Monte Carlo error of so many windows."""
        if model.channel.law.added is not None:
            return None
        pool, prepared, y = self.pool(model), window_model(model), np.asarray(values)
        share = np.stack([np.asarray(_below(prepared, theta, pool, y)) for theta in np.asarray(thetas)])
        return share, 1.0 - share

    def seconds(self, model: Model, thetas: int) -> float:
        """The ranks of all windows at all θ, if there is anything to simulate."""
        if running_sums.tells_nothing(model.channel.law):
            return 0.0
        return thetas * self.size * (2 * model.channel.law.window + 1) * _PER_RANK

    def for_a_posterior(self) -> Pool:
        """Fewer windows, unless a number of them was asked for."""
        return replace(self, size=_FOR_A_POSTERIOR) if self.size == _FOR_INFORMATION else self

    def for_a_look(self) -> Pool:
        """The first windows of each batch."""
        return replace(self, parts=_FOR_A_LOOK)

    def quicker(self) -> Pool | None:
        """Fewer windows, unless a number of them was asked for."""
        return replace(self, parts=_AT_FIRST) if self.size == _FOR_A_POSTERIOR else None

    def information(self, model: Model, thetas: Any) -> NoReturn:
        """Refused: the information of a pool is an estimate, and comes with its error."""
        del model, thetas
        raise IncompatibleError(
            "the pool route estimates the information; use information_with_error, or confide.information"
        )

    def information_with_error(
        self, model: Model, thetas: Any, *, size: int | None = None, key: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The Fisher information at each θ (M, d) and its standard error, each (M, d, d)."""
        self._require_score(model)
        pool = self.pool(model, size, key)
        prepared = window_model(model)
        if running_sums.serves(prepared.law):
            return running_sums.running_information(prepared, np.asarray(thetas), pool)
        found = [
            tuple(np.asarray(part) for part in pool_information(prepared, theta, pool))
            for theta in progress(np.asarray(thetas), "simulated windows")
        ]
        return np.stack([matrix for matrix, _ in found]), np.stack([error for _, error in found])

    def pool(self, model: Model, size: int | None = None, key: Any = None) -> WindowPool:
        """The windows on the uniform scale: they depend on n, the rank and K, not on θ, the population or the scale."""
        channel = model.channel
        assert channel.statistic.ranked
        with jax.ensure_compile_time_eval():
            chosen = fused_key(as_key(self.key if key is None else key))
        rank = channel.statistic.rank(channel.n)
        pool = simulate_pool(chosen, channel.n, rank, channel.law.window, self.size if size is None else size)
        return pool if self.parts == 1 else pool.first(-(-pool.log_weight.shape[-1] // self.parts))


def _together(pool: WindowPool) -> list[tuple[Floats, Floats]]:
    """Logits and log weights of equally many windows of each batch at a time, the last filled up with none."""
    zeta, log_weight = np.asarray(pool.zeta), np.asarray(pool.log_weight)
    missing = -log_weight.shape[1] % _TOGETHER
    zeta = np.pad(zeta, [(0, 0), (0, missing), (0, 0)])
    log_weight = np.pad(log_weight, [(0, 0), (0, missing)], constant_values=-np.inf)
    starts = range(0, log_weight.shape[1], _TOGETHER)
    return [
        (jax.device_put(zeta[:, at : at + _TOGETHER]), jax.device_put(log_weight[:, at : at + _TOGETHER]))
        for at in starts
    ]


def over_batches(model: Model, thetas: Any, values: Any, each: np.ndarray) -> Floats:
    """log p(y | θ) (M, Y) from what each batch says of it (M, Y, batches)."""
    return require_finite(model, thetas, values, logsumexp(each, axis=-1) - np.log(each.shape[-1]))


@functools.lru_cache(maxsize=256)
def window_model(model: Model) -> WindowModel:
    """What the windows of a model need, read once."""
    channel, population = model.channel, model.population
    statistic = channel.statistic
    assert statistic.ranked
    values = discrete_law(population, statistic) if population.discrete else transformed_law(population, statistic)
    low, high = statistic.ranges[0]
    jumps = population.discrete or channel.law.selects or _has_gap(np.asarray(values.values))
    ranks = Ranks(float(channel.n), float(statistic.rank(channel.n)))
    bounded = channel.law.selects
    return WindowModel(values, channel.law, ranks, low, high, not jumps, population.regular, bounded)


def _has_gap(ends: np.ndarray) -> bool:
    """Whether the values of the pieces (pieces, 2) leave a gap, across which a window would jump as θ moves."""
    order = np.argsort(np.min(ends, axis=1))
    reach = np.maximum.accumulate(np.max(ends, axis=1)[order])
    return bool(np.any(np.min(ends, axis=1)[order][1:] > reach[:-1]))
