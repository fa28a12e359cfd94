"""Shares: the mean of a statistic that takes two values, such as `x > 1`, with noise. A finite sum, in closed form.

Let s be b with probability q(θ) and a otherwise. The number K of records with s = b is binomial, the mean is
u_K = a + (b − a)K/n, and

    p(y | θ) = Σ_k C(n, k) q^k (1 − q)^{n−k} f(y − u_k),

with f the density (or, on a lattice, the mass) of the noise: n + 1 positive terms, so that no digit is lost however far
out y lies. θ enters through q alone, hence F(θ) = ∇q ∇qᵀ F_q with

    F_q = ∫ (∂_q p)²/p dy,      ∂_q p(y) = n Σ_k C(n−1, k) q^k (1 − q)^{n−1−k} {f(y − u_{k+1}) − f(y − u_k)},

which needs no division by q and holds at q = 0 and 1. A statistic that is constant is the case q = 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp, xlogy
from jaxtyping import Float
from numpy.typing import NDArray
from scipy import special

from confide.likelihood.cached import once
from confide.likelihood.completed import Completed
from confide.likelihood.local.response import ResponseCells, level_law
from confide.likelihood.mean import told_by_masses
from confide.likelihood.mean.told_by_masses import ROOM, log_noise, rounded
from confide.likelihood.noise.lattice import finite_values
from confide.likelihood.record_law.record import RecordLaw, log_mass
from confide.likelihood.route import Route, require_finite
from confide.likelihood.score_integral import Tells, Told, certain
from confide.population import Population
from confide.statistic import Statistic

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

#: records up to which all n + 1 terms are summed: a grid of 400 θ costs a tenth of a second there
_MOST_RECORDS = 20_000
#: sums of products of scaled probabilities below this are done again in logarithms, before they underflow
_SMALL = 1e-200
#: probabilities of K this far below the largest (in logarithms) are left out of an integral over y
_UNSEEN = 80.0
#: most points of a noise's lattice that an integral over y becomes a sum of
_MOST_POINTS = 200_000


class TwoValues(eqx.Module):
    """The two values of s, the lower first, and the law that says how probable each is (equal if there is one)."""

    law: ResponseCells | RecordLaw
    member: Floats
    low: float = eqx.field(static=True)
    high: float = eqx.field(static=True)

    def masses(self, theta: jax.Array) -> jax.Array:
        """(1 − q, q) at one θ, each as exact as the distribution function, so that neither is a difference from one."""
        return jnp.asarray(self.member) @ self.law.weights(theta)

    def log_weights(self, theta: jax.Array) -> jax.Array:
        """Their logarithms."""
        return log_mass(self.masses(theta))

    def masses_at(self, thetas: Floats) -> Floats:
        """(1 − q, q) at known θ: shape (M, 2)."""
        return np.asarray(self.law.weights_at(thetas) @ self.member.T)

    def slopes_at(self, thetas: Floats) -> Floats:
        """∂q/∂θ at known θ: shape (M, d)."""
        return np.asarray(np.einsum("j,tjd->td", self.member[1], self.law.slopes_at(thetas)))


@once
def share_of(population: Population, statistic: Statistic) -> TwoValues | None:
    """The two values that s(clip X) can take with positive probability, or None where it has more."""
    values = finite_values(population, statistic)
    if values is None:
        return None
    known = np.asarray(values)
    law = level_law(population, statistic, 0.5 * (known[:-1] + known[1:]))
    # a value that s takes at one point only (sign(x) at 0) is no value of a continuous population
    taken = known[np.unique(np.argmin(np.abs(law.s[0][:, None] - known), axis=1))]
    if taken.size > 2:
        return None
    nearest = np.argmin(np.abs(law.s[0][:, None] - taken), axis=1)
    member = (np.arange(2)[:, None] == nearest + (2 - taken.size)).astype(float)
    return TwoValues(law, member, float(taken[0]), float(taken[-1]))


def _log_binomial(n: int, masses: Floats) -> Floats:
    """log P(K = k) for k = 0, …, n at each row of (1 − q, q): shape (M, n + 1)."""
    k = np.arange(n + 1.0)
    ways = special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)
    return np.asarray(ways + special.xlogy(k, masses[:, 1:]) + special.xlogy(n - k, masses[:, :1]))


def _means(model: Model, share: TwoValues) -> Floats:
    """u_k for k = 0, …, n."""
    n = model.channel.n
    return np.asarray(share.low + (share.high - share.low) * (np.arange(n + 1.0) / n))


@dataclass(frozen=True)
class Share(Route):
    """Binomial counts with noise, summed term by term.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x > 1", bounds=(-9, 9)), cf.Laplace(cf.PureDP(1.0)), n=2)
    >>> model = cf.Model(cf.populations.normal_mean(), channel)
    >>> print(model.log_likelihood(1.0, 0.5, route="share").round(6))      # log((1 + 1/e)/2)
    -0.379885
    """

    name = "share"
    error = "none"

    def refuses(self, model: Model) -> str | None:
        """A scalar mean of two values with additive noise, of not too many records."""
        channel = model.channel
        if not channel.statistic.averages or channel.statistic.dimension > 1:
            return "the share route serves a scalar Mean; use route 'order', 'records' or 'normal'"
        if channel.law.added is None:
            return "the share route serves additive noise; use latent methods for other mechanisms"
        if channel.n > _MOST_RECORDS:
            return f"the share route serves up to {_MOST_RECORDS:,} records; use route 'spectral'"
        noise, (low, high) = channel.law.added, channel.statistic.ranges[0]
        if noise.step is not None and (high - low + 90 * noise.scale) / noise.step > _MOST_POINTS:
            return "the share route serves lattices of fewer points; use route 'spectral'"
        if share_of(model.population, channel.statistic) is None:
            return "the share route serves statistics of two values, such as x > 1; use route 'spectral'"
        return None

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """The sum in logarithms, inside a trace."""
        share, n = _share(model), model.channel.n
        below, above = share.masses(theta)
        k = np.arange(n + 1.0)
        ways = special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)
        log_binomial = ways + xlogy(k, above) + xlogy(n - k, below)
        return jnp.asarray(logsumexp(log_binomial + log_noise(model, value, rounded(model, _means(model, share)))))

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Float[Floats, "thetas values"]:
        """A product of two matrices, P(K = k | θ) and f(y − u_k), and again in logarithms where that underflows."""
        thetas, values = np.asarray(thetas), np.asarray(values)
        share, n = _share(model), model.channel.n
        masses = share.masses_at(thetas)
        points, result = rounded(model, _means(model, share)), np.empty((len(thetas), len(values)))
        most = max(1, ROOM // (n + 1))
        for column in range(0, len(values), most):
            some = slice(column, column + most)
            log_f = np.asarray(log_noise(model, values[some, None], points))
            for row in range(0, len(thetas), most):
                rows = slice(row, row + most)
                result[rows, some] = _log_product(_log_binomial(n, masses[rows]), log_f)
        return require_finite(model, thetas, values, result)

    def completed(self, model: Model, theta: Any, value: Any) -> Completed:
        """E[K | y] records with the upper value."""
        share, n = _share(model), model.channel.n
        points = rounded(model, _means(model, share))
        log_noise_at = np.asarray(log_noise(model, np.asarray(value), points)).reshape(1, -1)
        given = special.softmax(_log_binomial(n, share.masses_at(np.asarray(theta).reshape(1, -1))) + log_noise_at)[0]
        upper = given @ np.arange(n + 1.0)
        return Completed(share, np.asarray([given @ np.arange(n, -1.0, -1.0), upper]))

    def tails(self, model: Model, thetas: Any, values: Any) -> tuple[Floats, Floats]:
        """Σ_k P(K = k | θ) times the noise's tails."""
        share = _share(model)
        masses = np.exp(_log_binomial(model.channel.n, share.masses_at(np.asarray(thetas))))
        return told_by_masses.tails(model, rounded(model, _means(model, share)), masses, np.asarray(values))

    def told(self, model: Model, thetas: Any) -> Iterator[Iterable[Tells]]:
        """What y tells about q, times ∇q."""
        share, thetas = _share(model), np.asarray(thetas)
        for mass, slope in zip(share.masses_at(thetas), share.slopes_at(thetas), strict=True):
            # where q does not move with θ nothing is told, whatever is told about q
            yield _about_share(model, mass, slope) if np.any(slope) else certain(slope.size)


def _share(model: Model) -> TwoValues:
    statistic = model.channel.statistic
    assert statistic.averages
    share = share_of(model.population, statistic)
    assert share is not None  # `refuses` has looked at it
    return share


def _log_product(log_binomial: Floats, log_noise: Floats) -> Floats:
    """log Σ_k e^{binomial + noise} of rows (M, n + 1) and (Y, n + 1)."""
    tops = [rows.max(axis=1) for rows in (log_binomial, log_noise)]
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = [np.exp(rows - top[:, None]) for rows, top in zip((log_binomial, log_noise), tops, strict=True)]
        total = scaled[0] @ scaled[1].T
        result = np.log(total) + tops[0][:, None] + tops[1]
    for i, j in zip(*np.nonzero(~(total > _SMALL)), strict=True):
        result[i, j] = special.logsumexp(log_binomial[i] + log_noise[j])
    return np.asarray(result)


def _about_share(model: Model, masses: Floats, slope: Floats) -> Iterator[Told]:
    """What y tells about θ, of which q = masses[1] has so steep a slope."""
    n, share = model.channel.n, _share(model)
    probability = np.exp(_log_binomial(n, masses[None])[0])
    fewer = np.exp(_log_binomial(n - 1, masses[None])[0])
    seen = np.flatnonzero(probability > np.exp(-_UNSEEN) * probability.max())
    some = slice(max(0, int(seen[0]) - 1), min(n, int(seen[-1]) + 1) + 1)
    # ∂_q P(K = k) = n {P(K' = k − 1) − P(K' = k)}, K' of n − 1 records
    by_share = n * (np.concatenate([[0.0], fewer]) - np.concatenate([fewer, [0.0]]))
    for part in told_by_masses.told(model, _means(model, share)[some], np.stack([probability, by_share])[:, some]):
        yield Told(part.mass, part.score * slope)
