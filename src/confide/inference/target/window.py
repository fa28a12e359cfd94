"""A window of ranks is latent: order statistics at any n (Algorithm 7 on what the mechanism can see).

The mechanism sees only the sorted values of ranks m−K … m+K, so z is that window on the uniform scale: 2K + 1 numbers
for every n. Two references serve.

* *From the prior*: the middle level is Beta(m, n−m+1), and exponentials lead outwards. It knows nothing of θ, and the
  weight is p(y | window): the values move with θ. Where noise is wide (an extreme, which one record can move far) this
  mixes best.
* *Anchored*: the middle *value* v is drawn around the published one, and its level F(v; θ) follows θ. The weight gains
  the density of the order statistic at v over that of the draw. Where noise is small against the sampling spread (large
  n), only this keeps the latent where the published value is while θ moves.

Clipped records are atoms at the ends of the range: an atom is drawn with a fixed probability, and the level inside it
is uniform.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid

from confide._compile import FAST_COMPILE, materialize
from confide._random import as_key
from confide.errors import IncompatibleError
from confide.inference.target import quantiles
from confide.inference.target.base import Anew, Latent
from confide.likelihood import ROUTES
from confide.likelihood.rank.pool import window_model
from confide.likelihood.rank.window import Ranks, outward, outward_tails
from confide.likelihood.value_law.value import Tails, TransformedLaw
from confide.model import Model
from confide.prior import Prior

#: shares of the anchored reference: near the published value, anywhere in the range, and at each atom
_NEAR, _ATOM = 0.9, 0.02
#: anchored where the noise is narrower than that many sampling spreads. Autocorrelation times with two copies, anchored
#: and not, by this ratio: .07: 4 and 79, .5: 5 and 35, .77: 5 and 23, .89: 7 and 10, 3.9: 12 and 7, 9: 37 and 6
_NARROW = 1.3
_PROBES = 512
#: of the probes, those whose windows lie nearest to the published value
_NEAREST = 24


class Anchor(NamedTuple):
    """Where the middle value is drawn: a Cauchy law cut to the range, mixed with a uniform one, and atoms."""

    centre: jax.Array
    scale: jax.Array
    low: jax.Array
    high: jax.Array
    #: the probability of the atom at the lower and at the upper end
    atoms: jax.Array

    def _angles(self) -> tuple[jax.Array, jax.Array]:
        return jnp.arctan((self.low - self.centre) / self.scale), jnp.arctan((self.high - self.centre) / self.scale)

    def value(self, uniforms: jax.Array) -> jax.Array:
        """The middle value from two uniform numbers (…, 2)."""
        first, last = self._angles()
        near = self.centre + self.scale * jnp.tan(first + uniforms[..., 1] * (last - first))
        wide = self.low + uniforms[..., 1] * (self.high - self.low)
        # the first number chooses: lower atom, upper atom, near, anywhere
        edges = jnp.cumsum(jnp.concatenate([self.atoms, (1 - self.atoms.sum())[None] * _NEAR]))
        kind = jnp.searchsorted(edges, uniforms[..., 0], side="right")
        inside = jnp.clip(jnp.where(kind == 2, near, wide), self.low, self.high)
        return jnp.where(kind == 0, self.low, jnp.where(kind == 1, self.high, inside))

    def log_density(self, value: jax.Array) -> jax.Array:
        """The log density inside the range, or the log probability of an atom."""
        first, last = self._angles()
        offset = (value - self.centre) / self.scale
        near = 1.0 / ((last - first) * self.scale * (1 + offset**2))
        inside = (1 - self.atoms.sum()) * (_NEAR * near + (1 - _NEAR) / (self.high - self.low))
        on_low, on_high = self.on_atom(value)
        return jnp.log(jnp.where(on_low, self.atoms[0], jnp.where(on_high, self.atoms[1], inside)))

    def on_atom(self, value: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Whether a value is the lower or the upper atom."""
        return (value <= self.low) & (self.atoms[0] > 0), (value >= self.high) & (self.atoms[1] > 0)


class WindowTarget(Anew):
    """The window of ranks that a mechanism sees. A latent is (uniforms of the middle, exponentials above, below)."""

    prior: Prior
    model: Model = eqx.field(static=True)
    value: jax.Array
    anchor: Anchor | None

    fixed_reference: ClassVar[bool] = True

    @classmethod
    def of(cls, prior: Prior, model: Model, value: jax.Array, anchored: bool) -> WindowTarget:
        """Anchored where that is possible and of use: where the noise is not large against the sampling spread."""
        reason = why_no_window(model)
        if reason is not None:
            raise IncompatibleError(reason)
        free = cls(prior, model, value, None)
        if not anchored or not _can_anchor(model):
            return free
        spread, noise = _scales(free)
        if not noise < _NARROW * spread:
            return free
        law, (low, high) = window_model(model).values, model.channel.statistic.ranges[0]
        assert isinstance(law, TransformedLaw)
        ends = np.asarray([low, high])
        atoms = np.asarray([_ATOM if np.any(np.asarray(law.atoms) == end) else 0.0 for end in ends])
        place = [np.clip(np.asarray(value), low, high), *map(np.float64, (noise, low, high)), atoms]
        return cls(prior, model, value, Anchor(*jax.device_put(place)))

    @property
    def ranks(self) -> Ranks:
        """The rank m of n."""
        statistic, n = self.model.channel.statistic, self.model.channel.n
        assert statistic.ranked
        return Ranks(float(n), float(statistic.rank(n)))

    @property
    def sides(self) -> tuple[int, int]:
        """How many of the ranks above and below the middle that the mechanism sees exist: of an extreme one side."""
        cap, ranks = self.model.channel.law.window, self.ranks
        return min(cap, int(ranks.n - ranks.rank)), min(cap, int(ranks.rank) - 1)

    def noise(self, key: jax.Array, count: int) -> Latent:
        """Uniform numbers for the middle and exponentials for either side, θ-free; or the middle's logit itself."""
        above, below = self.sides
        if self.anchor is None:
            one, two, key = jax.random.split(key, 3)
            ranks = self.ranks
            middle = jax.random.loggamma(one, ranks.rank, (count,), dtype=jnp.float64) - jax.random.loggamma(
                two, ranks.n - ranks.rank + 1.0, (count,), dtype=jnp.float64
            )
            return middle, *_exponentials(jax.random.uniform(key, (count, above + below), dtype=jnp.float64), above)
        # one call for all: each costs time to compile
        uniforms = jax.random.uniform(key, (count, 3 + above + below), dtype=jnp.float64)
        sides = _exponentials(uniforms[:, 3:], above)
        head = materialize(uniforms[:, :3])
        return (materialize(self.anchor.value(head[:, :2])), head[:, 2]), *sides

    def log_weight(self, theta: jax.Array, latents: Latent, first: jax.Array, second: jax.Array) -> jax.Array:
        """log p(y | window), and for an anchored middle the density of the order statistic over that of the draw."""
        del first, second
        middle, above, below = latents
        if self.anchor is None:
            window = self._padded(self._values(Tails(sigmoid(middle), sigmoid(-middle)), above, below, theta))
            return self.model.channel.law.log_prob(self.value, window)[:, None]
        value, inside = middle
        levels, log_order = self._order_density(theta, value, inside)
        window, place = self._values(levels, above, below, theta), below.shape[-1]
        # the middle itself, and on either side of it what rounding must not put on the other
        order, middle = jnp.arange(window.shape[-1]), value[:, None]
        sides = jnp.where(order < place, jnp.minimum(window, middle), jnp.maximum(window, middle))
        window = jnp.where(order == place, middle, sides)
        log_prob = self.model.channel.law.log_prob(self.value, self._padded(window))
        usable = log_order > -jnp.inf
        return (jnp.where(usable, log_prob, 0.0) + log_order - self.anchor.log_density(value))[:, None]

    def _values(self, middle: Tails, above: jax.Array, below: jax.Array, theta: jax.Array) -> jax.Array:
        return quantiles.window_at(self.model, outward_tails(middle, above, below, self.ranks), theta)

    def _padded(self, window: jax.Array) -> jax.Array:
        """With the ends of the range at ranks that do not exist."""
        cap, (above, below) = self.model.channel.law.window, self.sides
        prepared, batch = window_model(self.model), window.shape[:-1]
        ends = [jnp.full((*batch, cap - below), prepared.low), jnp.full((*batch, cap - above), prepared.high)]
        return jnp.concatenate([ends[0], window, ends[1]], axis=-1)

    def _order_density(self, theta: jax.Array, value: jax.Array, inside: jax.Array) -> tuple[Tails, jax.Array]:
        """The level of the middle value, and the log density of the order statistic (log mass rate on an atom)."""
        assert self.anchor is not None
        (below, above), density = quantiles.level_of(self.model, value, theta)
        on_low, on_high = self.anchor.on_atom(value)
        rate = jnp.where(on_low, below, jnp.where(on_high, above, density))
        # a level inside an atom
        below, above = (
            jnp.where(on_low, inside * rate, jnp.where(on_high, below + inside * rate, below)),
            jnp.where(on_low, above + (1 - inside) * rate, jnp.where(on_high, (1 - inside) * rate, above)),
        )
        possible = (rate > 0) & (below > 0) & (above > 0)
        ranks = self.ranks
        constant = math.lgamma(ranks.n + 1) - math.lgamma(ranks.rank) - math.lgamma(ranks.n - ranks.rank + 1)
        safe = [jnp.where(possible, part, 0.5) for part in (below, above, rate)]
        log_p = (ranks.rank - 1) * jnp.log(safe[0]) + (ranks.n - ranks.rank) * jnp.log(safe[1]) + jnp.log(safe[2])
        return Tails(safe[0], safe[1]), jnp.where(possible, log_p + constant, -jnp.inf)


def _exponentials(uniforms: jax.Array, above: int) -> tuple[jax.Array, jax.Array]:
    """−log(1 − u) for either side: 1 − u is exact, and a plain logarithm compiles faster than log1p."""
    exponentials = -jnp.log(1.0 - uniforms)
    return exponentials[:, :above], exponentials[:, above:]


def why_no_window(model: Model) -> str | None:
    """Why the windows of a model cannot be simulated, or None."""
    if model.channel.law.added is not None:
        return None if _readable(model) else "the monotone pieces of the statistic cannot be read"
    return ROUTES["pool"].refuses(model)


def _readable(model: Model) -> bool:
    try:
        window_model(model)
    except IncompatibleError:
        return False
    return True


def _can_anchor(model: Model) -> bool:
    """Atoms only at the ends of the range, and no gaps inside it."""
    law = window_model(model).values
    if not isinstance(law, TransformedLaw) or not all(law.directions):
        return False
    ends = np.sort(np.asarray(law.values), axis=1)
    reached = np.maximum.accumulate(ends[np.argsort(ends[:, 0]), 1])
    return bool(np.all(np.sort(ends[:, 0])[1:] <= reached[:-1]))


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _look(
    model: Model, law: Any, ranks: Ranks, key: jax.Array, noise: tuple[Any, ...], thetas: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The middles of two windows at each θ, and what is published of the first."""
    middle, above, below = noise
    zeta = outward(middle, above, below, ranks).reshape(_PROBES, 2, -1)
    windows = jax.lax.map(lambda pair: quantiles.window(model, pair[0], pair[1]), (zeta, thetas))
    return windows[:, :, law.window], jnp.asarray(law.sample(key, windows[:, 0]))


def _scales(target: WindowTarget) -> tuple[float, float]:
    """The sampling spread of the middle at fixed θ and the size of the noise, where windows lie near the value.

    The host's generator serves for this rough look, as nothing of it enters a draw.
    """
    generator, ranks, law = np.random.default_rng(0), target.ranks, target.model.channel.law
    count = 2 * _PROBES
    middle = np.log(generator.gamma(ranks.rank, size=count)) - np.log(
        generator.gamma(ranks.n - ranks.rank + 1, size=count)
    )
    sides = generator.exponential(size=(2, count, law.window))
    thetas = np.asarray(target.prior.probes)[:_PROBES]
    both, published = map(np.asarray, _look(target.model, law, ranks, as_key(0), (middle, *sides), thetas))
    nearest = np.argsort(np.abs(both[:, 0] - float(target.value)))[:_NEAREST]
    middles, again = both[nearest].T
    noise, spread = (float(np.median(np.abs(x - middles))) for x in (published[nearest], again))
    low, high = target.model.channel.statistic.ranges[0]
    return spread, max(noise, 1e-9 * (high - low))
