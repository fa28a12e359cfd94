"""One noisy value per record (Sec 3.4, 5.5): p(y₁ … yₙ | θ) = Π_t p(y_t | θ), each factor an integral over one record.

    p(y | θ) = E g(y | s(clip X)) ≈ Σ_j w_j(θ) g(y | s_j)

with g the density of the noise and w_j, s_j the law of a clipped record, on one of three kinds of nodes:

* *moving* panels, where θ is traced, or an end of the support or a kink of the density depends on it. Laplace noise has
  a kink at s(x) = y, which spoils Gauss–Legendre quadrature on the panel that holds it (2e-4). Each monotone piece of s
  holds at most one such point, wherever θ is; its panel is replaced by the two parts on either side.
* *still* panels, where the θ are known and the density is smooth in them: a matrix that all θ share (`tabulate`).
* the *points* of a discrete record; and the *level sets* of s where the noise lives on a lattice, to which s is first
  rounded. They are still too.

Values by the thousand are binned (`tabulate.Binned`); after that a θ costs the same however many there are.

The Fisher information is n ∫ (∂p)(∂p)ᵀ/p dy. Under Laplace noise p is a multiple of e^{∓y/b} beyond the range of s, and
each tail contributes b (∂p)(∂p)ᵀ/p at its end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from confide.errors import AccuracyError, IncompatibleError, InvalidArgument
from confide.likelihood import moving
from confide.likelihood.moving import CHANGES, HALF_NODES, halve, on_panels, once
from confide.likelihood.record import NODES, WEIGHTS, Floats, RecordLaw, record_law
from confide.likelihood.response import Cells, level_law
from confide.likelihood.route import Route, require_finite
from confide.likelihood.tabulate import Binned, Still, bin_values, count_values, is_laplace, still_on, still_panels
from confide.mechanism import AdditiveLaw, LaplaceNoise, LatticeNoise, Law, Noise, NoiselessLaw, ResponseLaw
from confide.population import Population
from confide.statistic import Each, OrderStatistic, Statistic

if TYPE_CHECKING:
    from confide.model import Model

#: from this many values on, values at known θ are binned
BINNED_FROM = 4096
_MOST_LEVELS, _MOST_THETAS, _MOST_INFORMATION = 20_000, 2048, 256
_BATCH, _ROWS, _BLOCK, _ENTRIES = 2048, 8, 4096, 4_000_000
_TAIL = 10.0  # standard deviations of Gaussian noise beyond the range of s: less than e^{−50} of the mode is left
_SETTLED, _LARGEST_ERROR = 1e-12, 1e-9


# ---- one θ, which may be traced -------------------------------------------------------------------------------------


def _log_mixture(law: Law, y: jax.Array, s: jax.Array, weights: jax.Array) -> jax.Array:
    """log Σ_j w_j g(y | s_j), linear in w so that a weight of zero has its derivative."""
    log_noise = law.log_prob(y, s)
    usable = weights > 1e-290
    top = jnp.max(jnp.where(usable, log_noise + jnp.log(jnp.where(usable, weights, 1.0)), -jnp.inf))
    top = lax.stop_gradient(jnp.where(jnp.isfinite(top), top, 0.0))
    total = jnp.sum(weights * jnp.exp(jnp.minimum(log_noise - top, 600.0)))
    positive = total > 0
    return jnp.where(positive, top + jnp.log(jnp.where(positive, total, 1.0)), -jnp.inf)


@partial(jax.jit, static_argnums=(0, 1, 2))
def log_density(
    population: Population,
    statistic: Statistic,
    changes: int,
    law: Law,
    record: RecordLaw | Cells | None,
    theta: jax.Array,
    y: jax.Array,
) -> jax.Array:
    """log p(y | θ) of each value (n,) at one θ, differentiable in θ; nodes move if no law of the record is given."""
    one: Callable[[jax.Array], jax.Array]
    if record is not None:
        s, weights = jnp.asarray(record.s)[0], record.weights(theta)
        one = partial(_log_mixture, law, s=s, weights=weights)
    else:
        one = _moving(population, statistic, changes, law, theta)
    values = lax.stop_gradient(jnp.asarray(y))
    if values.size <= _BATCH:
        return jax.vmap(one)(values)
    return jnp.asarray(lax.map(jax.checkpoint(one), values, batch_size=_BATCH))


def _moving(
    population: Population, statistic: Statistic, changes: int, law: Law, theta: jax.Array
) -> Callable[[jax.Array], jax.Array]:
    """log p(y | θ) as a function of one y, on panels that move with θ."""
    frame = moving.frame(population, statistic, changes)
    cut = moving.panels(population, frame, theta)
    x, weights = moving.nodes(population, theta, cut.edges[:-1], cut.edges[1:])
    s = frame.pieces.values(x, cut.piece[:, None])[0].ravel()
    atoms = jnp.asarray(frame.atoms[0]), moving.atom_weights(population, frame, theta)
    monotone = np.flatnonzero(frame.pieces.directions[frame.piece])

    def smooth(y: jax.Array) -> jax.Array:
        return _log_mixture(law, y, jnp.concatenate([s, atoms[0]]), jnp.concatenate([weights.ravel(), atoms[1]]))

    def kinked(y: jax.Array) -> jax.Array:
        piece = jnp.asarray(frame.piece[monotone])
        root = frame.pieces.solve(y, piece)
        panel = jnp.searchsorted(cut.edges, root, side="right") - 1
        panel = jnp.clip(panel, cut.first[monotone], cut.last[monotone])
        whole = jnp.ones(len(cut.piece)).at[panel].set(0.0)[:, None] * weights
        a, b = cut.edges[panel], cut.edges[panel + 1]
        ends = jnp.stack([a, jnp.clip(root, a, b), b])
        inner, inner_weights = moving.nodes(population, theta, ends[:-1], ends[1:])
        inner_s = frame.pieces.values(inner, piece[:, None])[0]
        values = jnp.concatenate([s, atoms[0], inner_s.ravel()])
        return _log_mixture(law, y, values, jnp.concatenate([whole.ravel(), atoms[1], inner_weights.ravel()]))

    has_kink = isinstance(law, AdditiveLaw) and isinstance(law.noise, LaplaceNoise) and monotone.size > 0
    return kinked if has_kink else smooth


@partial(jax.jit, static_argnums=(0, 1, 2))
def _log_densities(
    population: Population, statistic: Statistic, changes: int, law: Law, record: Any, thetas: jax.Array, y: jax.Array
) -> jax.Array:
    each = lax.map(lambda theta: log_density(population, statistic, changes, law, record, theta, y), thetas)
    return jnp.asarray(each)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _with_scores(
    population: Population, statistic: Statistic, changes: int, law: Law, record: Any, thetas: jax.Array, y: jax.Array
) -> jax.Array:
    """log p(y | θ) and its derivatives, on one last axis."""

    def twice(theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        log_p = log_density(population, statistic, changes, law, record, theta, y)
        return log_p, log_p

    def one(theta: jax.Array) -> jax.Array:
        score, log_p = jax.jacfwd(twice, has_aux=True)(theta)
        return jnp.concatenate([log_p[:, None], score], axis=1)

    return jnp.asarray(lax.map(one, thetas))


# ---- a model of one record ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Local:
    """What a model says about one record and its noisy value."""

    population: Population
    statistic: Statistic
    law: Law

    @property
    def noise(self) -> Noise:
        """The additive noise, or an error in words."""
        if not isinstance(self.law, AdditiveLaw):
            raise IncompatibleError(
                f"nothing is known about the tails of {type(self.law).__name__}, over which an integral in y must run; "
                "use Laplace or Gaussian noise, or the Monte Carlo method 'sequential'"
            )
        return self.law.noise

    @property
    def changes(self) -> int:
        """On a panel s changes by at most 2^−changes of its range: 4 scales of Laplace noise, 3 of Gaussian."""
        if not isinstance(self.law, AdditiveLaw):
            return 7
        low, high = self.statistic.range
        largest = (4.0 if is_laplace(self.noise) else 3.0) * float(self.noise.scale)
        return max(CHANGES, math.ceil(math.log2(max((high - low) / largest, 1.0))))

    @property
    def record(self) -> RecordLaw | Cells | None:
        """The nodes of the record, where they are the same for all θ: points and level sets."""
        if self.population.discrete:
            return moving.points(self.population, self.statistic)
        if isinstance(self.law, AdditiveLaw) and isinstance(self.noise, LatticeNoise):
            return _rounded_law(self.population, self.statistic, float(self.noise.step))
        return None

    @property
    def still(self) -> bool:
        """Whether there are nodes that serve many θ."""
        if not isinstance(self.law, AdditiveLaw):
            return False
        if self.population.discrete or isinstance(self.noise, LatticeNoise):
            return True
        return not self.population.moving and self.population.closed.breaks is None

    def densities(self, thetas: Floats, furthest: float) -> Still | Moving:
        """p(y | θ) for all the θ, at values that lie at most `furthest` beyond the range of s."""
        if not self.still:
            return Moving(self, thetas)
        if self.population.discrete:
            return still_on(record_law(self.population, self.statistic, thetas), self.noise, thetas)
        if self.record is not None:
            return still_on(self.record, self.noise, thetas)
        low, high = self.statistic.range
        ratio = (high - low) / self.noise.scale
        # how much likelier y can be from one end of the range than from the other
        nats = ratio if is_laplace(self.noise) else ratio * (0.5 * ratio + furthest / self.noise.scale)
        return still_panels(self.population, self.statistic, self.noise, thetas, self.changes, min(nats, 600.0))

    def breaks(self, densities: Still | Moving) -> Floats:
        """Where p(y | θ) is not smooth in y under Laplace noise: s at the ends of its pieces, and of the density's."""
        if isinstance(densities, Still) and self.population.discrete:
            return np.unique(densities.law.s)
        frame = moving.frame(self.population, self.statistic, self.changes)
        ends = frame.edges[frame.begins], frame.edges[[*frame.begins[1:], -1]]
        found = [frame.atoms[0], *(frame.pieces.values(end, frame.piece)[0] for end in ends)]
        if isinstance(densities, Moving):
            facts = self.population.support(densities.thetas), self.population.breaks(densities.thetas)
            at = np.concatenate([np.ravel(part) for part in facts])
            at = at[(at > frame.low) & (at < frame.high)]
            found.append(frame.pieces.values(at, frame.pieces.at(at))[0])
        return np.unique(np.concatenate(found))


@dataclass(frozen=True, eq=False)
class Moving:
    """p(y | θ) at given θ, each with its own nodes."""

    local: Local
    thetas: Floats

    def some(self, chosen: Any) -> Moving:
        """The same at some of the θ."""
        return Moving(self.local, self.thetas[chosen])

    def log_prob(self, y: Floats) -> Floats:
        """log p(y | θ), shape (θ, y)."""
        return self._run(_log_densities, y)

    def with_slopes(self, y: Floats) -> tuple[Floats, Floats]:
        """p(y | θ) and ∂p/∂θ, shapes (θ, y) and (θ, y, d)."""
        both = self._run(_with_scores, y)
        p = np.exp(both[..., 0])
        return p, np.where((p > 0)[..., None], both[..., 1:], 0.0) * p[..., None]

    @property
    def variation(self) -> Floats:
        """The size of ∫ |∂p(x | θ)/∂θ| dx for a location or a scale, shape (θ, d)."""
        low, high = np.asarray(self.local.population.quantile(np.array([0.1, 0.9]), self.thetas[:, None])).T
        return np.asarray(np.ones_like(self.thetas) / (high - low)[:, None])

    def _run(self, compute: Any, y: Floats) -> Floats:
        """In blocks of a few sizes, so that few are compiled."""
        local = self.local
        rows = _ROWS if len(self.thetas) > 1 else 1
        columns = next((size for size in (32, 256) if y.size <= 16 * size), _BLOCK)
        thetas, values = _padded(self.thetas, rows), _padded(y, columns)
        parts = [
            [
                np.asarray(
                    compute(local.population, local.statistic, local.changes, local.law, local.record, some, part)
                )
                for part in values.reshape(-1, columns)
            ]
            for some in thetas.reshape(-1, rows, thetas.shape[1])
        ]
        table = np.concatenate([np.concatenate(row, axis=1) for row in parts])
        return table[: len(self.thetas), : y.size]


def _padded(values: Floats, size: int) -> Floats:
    """Values, the last one repeated until their number is a multiple of the size."""
    return np.concatenate([values, np.repeat(values[-1:], -len(values) % size, axis=0)])


def local(model: Model) -> Local:
    """The part of a model that concerns one record."""
    law = model.channel.law
    if isinstance(law, AdditiveLaw):
        law = AdditiveLaw(law.noise)  # of one record a window of ranks is the record itself
    return Local(model.population, model.channel.statistic, law)


@once
def _rounded_law(population: Population, statistic: Statistic, step: float) -> RecordLaw | Cells:
    """The law of s rounded to the lattice: the masses between the midpoints of neighbouring lattice points."""
    first, last = (math.floor(end / step + 0.5) for end in statistic.range)
    if last - first > _MOST_LEVELS:
        raise AccuracyError(
            f"the step {step:g} cuts the range {statistic.range} of s into more than {_MOST_LEVELS:,} levels; leave "
            "the step out: a lattice this fine cannot be told from a continuum"
        )
    return level_law(population, statistic, (np.arange(first + 1, last + 1) - 0.5) * step)


# ---- the route ------------------------------------------------------------------------------------------------------


class RecordsRoute(Route):
    """`Each` with additive noise, and any scalar statistic of a single record, exact up to quadrature.

    Wherever a value is expected `Binned` ones may be given (see `tabulate`). From 4,096 values on, `log_likelihood`
    bins them by itself, unless p(y | θ) has a kink in y that moves with θ: Laplace noise on a population whose support
    or density has an end or a kink that does.

    >>> from confide import populations
    >>> from confide.channel import Channel
    >>> from confide.mechanism import Laplace
    >>> from confide.model import Model
    >>> from confide.privacy import PureDP
    >>> model = Model(populations.normal_variance(), Channel(Each("x**2", (-10, 10)), Laplace(PureDP(0.5)), n=100))
    >>> with jax.enable_x64(True):
    ...     print(RecordsRoute().information(model, [[2.0]]).round(5))
    [[[0.00244]]]
    """

    name = "records"
    error = "none beyond quadrature: below 1e-9, relative"

    def refuses(self, model: Model) -> str | None:
        """Why not, in words."""
        statistic, law, n = model.channel.statistic, model.channel.law, model.channel.n
        if not isinstance(statistic, Each) and n > 1:
            return (
                f"records needs a value per record, but {statistic} is one value of {n} records; use spectral or "
                "normal for a Mean, order or pool for an order statistic"
            )
        if statistic.dimension > 1:
            return "records needs a scalar statistic; use normal for a vector with Gaussian noise, or latent methods"
        if isinstance(law, NoiselessLaw):
            return "records needs noise: without it a value has no density given the record; use Laplace or Gaussian"
        if isinstance(law, ResponseLaw):
            return "records needs noise that is added; use response for randomized response"
        if isinstance(statistic, OrderStatistic) and not isinstance(law, AdditiveLaw):
            return "records needs noise that does not depend on the records; use pool for this mechanism"
        return None

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array | Binned) -> jax.Array:
        """log p(y | θ), traceable in θ, a batch of values at a time; of the first data set where values are binned."""
        one = local(model)
        y = jnp.asarray(value.nodes if isinstance(value, Binned) else value).reshape(-1)
        each = log_density(one.population, one.statistic, one.changes, one.law, one.record, theta, y)
        return jnp.asarray(value.total(each)[0]) if isinstance(value, Binned) else each.sum()

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> jax.Array:
        """log p(y | θ) for known θ (M, d) and values (Y, n), or binned ones: shape (M, Y)."""
        one, thetas = local(model), _as_thetas(model, thetas)
        if not isinstance(values, Binned):
            values = _on_lattice(one, np.asarray(values, dtype=float).reshape(len(values), -1))
            if values.size >= BINNED_FROM and _can_bin(one):
                values = self.tabulate(model, values, thetas)
        blocks = np.split(thetas, range(_MOST_THETAS, len(thetas), _MOST_THETAS))
        found = jnp.concatenate([jnp.asarray(_log_likelihood(one, block, values)) for block in blocks])
        return found if isinstance(values, Binned) else require_finite(model, thetas, values, found)

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
        if isinstance(one.noise, LatticeNoise):
            return count_values(one.noise, values)
        low, high = one.statistic.range
        densities = one.densities(thetas, max(values.max() - high, low - values.min(), 0.0))
        if is_laplace(one.noise):
            return bin_values(densities, one.breaks(densities), 1.0 / one.noise.scale, values)
        return bin_values(densities, _spread(one.noise, values.min(), values.max()), 0.0, values)

    def information(self, model: Model, thetas: Any) -> jax.Array:
        """n ∫ (∂p)(∂p)ᵀ/p dy at each θ, on panels of y that are halved until it stands still."""
        one, thetas = local(model), _as_thetas(model, thetas)
        size = _MOST_INFORMATION if one.still else 1
        batches = np.split(thetas, range(size, len(thetas), size))
        each = [_fisher(one, one.densities(batch, _TAIL * one.noise.scale)) for batch in batches]
        return jnp.asarray(model.channel.n * np.concatenate(each))


def _as_thetas(model: Model, thetas: Any) -> Floats:
    return np.ascontiguousarray(np.asarray(thetas, dtype=float).reshape(-1, model.population.dimension))


def _can_bin(one: Local) -> bool:
    """Whether the places where log p(y | θ) is not smooth in y are the same for all θ."""
    return isinstance(one.law, AdditiveLaw) and (one.still or not is_laplace(one.noise))


def _on_lattice(one: Local, values: Floats) -> Floats:
    """The values, refused if the mechanism cannot have published them."""
    if isinstance(one.law, AdditiveLaw) and isinstance(one.noise, LatticeNoise):
        position = values / one.noise.step
        off = np.abs(position - np.floor(position + 0.5)) > 1e-9 + 4 * np.finfo(float).eps * np.abs(position)
        if np.any(off):
            problem = f"is not a multiple of the step {one.noise.step:g}"
            raise InvalidArgument("value", float(values[off][0]), problem, "give what was published")
    return values


def _spread(noise: Noise, low: float, high: float) -> Floats:
    """Edges from low to high, at most two standard deviations of Gaussian noise apart."""
    high = max(high, low + noise.scale)
    return np.linspace(low, high, math.ceil((high - low) / (2.0 * noise.scale)) + 1)


def _log_likelihood(one: Local, thetas: Floats, values: Floats | Binned) -> Floats:
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


# ---- information ----------------------------------------------------------------------------------------------------


def _fisher(one: Local, densities: Still | Moving) -> Floats:
    """∫ (∂p)(∂p)ᵀ/p dy, shape (θ, d, d)."""
    (low, high), noise = one.statistic.range, one.noise

    def integrand(y: Floats) -> Floats:
        p, slopes = densities.with_slopes(y)
        half_score = slopes * np.where(p > 0, 1.0 / np.sqrt(np.where(p > 0, p, 1.0)), 0.0)[..., None]
        return np.asarray(half_score[..., :, None] * half_score[..., None, :])

    if isinstance(noise, LatticeNoise):
        return _lattice_sum(noise, low, high, integrand)
    if not is_laplace(noise):
        edges = _spread(noise, low - _TAIL * noise.scale, high + _TAIL * noise.scale)
        return _integrate(integrand, edges, densities.variation)
    tails = noise.scale * integrand(np.asarray([low, high])).sum(axis=1)
    edges = np.unique(np.clip([low, *one.breaks(densities), high], low, high))
    return np.asarray(_integrate(integrand, edges, densities.variation) + tails)


def _integrate(integrand: Callable[[Floats], Floats], edges: Floats, variation: Floats) -> Floats:
    """Integrals over y of (θ, y, d, d), by halving panels until they stand still against the whole.

    Slopes that cancel, where y says nothing about a parameter, leave rounding of 1e-16 of their variation: information
    below (1e-7 of it)² counts as none.
    """

    def both(a: Floats, b: Floats) -> tuple[Floats, Floats]:
        parts = []
        for nodes, weights in ((NODES, WEIGHTS), (HALF_NODES, 0.5 * np.tile(WEIGHTS, 2))):
            values = integrand(on_panels(a, b, nodes).ravel())
            values = values.reshape(len(values), a.size, nodes.size, *values.shape[2:])
            parts.append(np.einsum("tpnij,pn->tpij", values, 0.5 * (b - a)[:, None] * weights))
        return parts[0], parts[1]

    def error(coarse: Floats, fine: Floats, whole: Floats) -> Floats:
        """On the diagonal, which bounds the rest."""
        difference, size = (np.einsum("t...ii->t...i", part) for part in (np.abs(coarse - fine), whole))
        return np.asarray((difference / (size + 1e-14 * variation**2)[:, None]).max(axis=(0, 2)))

    whole = both(edges[:-1], edges[1:])[1].sum(axis=1)
    edges = halve(edges, lambda a, b: error(*both(a, b), whole) <= _SETTLED)
    coarse, fine = both(edges[:-1], edges[1:])
    total = fine.sum(axis=1)
    missed = float(error(coarse, fine, total).sum())
    if missed > _LARGEST_ERROR:
        raise AccuracyError(
            f"the Fisher information is known within {missed:.0e} of itself only; give fewer θ at a time"
        )
    return np.asarray(total)


def _lattice_sum(noise: LatticeNoise, low: float, high: float, integrand: Callable[[Floats], Floats]) -> Floats:
    """The same as a sum over the lattice; beyond the range of s a geometric series for Laplace noise."""
    reach = 0.0 if is_laplace(noise) else _TAIL * noise.scale
    first, last = (math.floor(end / noise.step + 0.5) for end in (low - reach, high + reach))
    if last - first > 4 * _MOST_LEVELS:
        raise AccuracyError(f"the step {noise.step:g} is too fine against the noise to sum over; leave the step out")
    y = noise.step * np.arange(first, last + 1.0)
    total = np.sum([integrand(y[at : at + _BLOCK]).sum(axis=1) for at in range(0, y.size, _BLOCK)], axis=0)
    if is_laplace(noise):
        total = total + integrand(y[[0, -1]]).sum(axis=1) / math.expm1(noise.step / noise.scale)
    return np.asarray(total)
