"""p(y | θ) of noisy counts at known cell probabilities: one contour integral, whatever the number of cells.

Given θ the counts c of n records are multinomial with probabilities q, and y_j = c_j + V_j. With Poisson weights

    G_j(w) = Σ_{c ≥ 0} wᶜ/c!·g(y_j − c),        p(y | θ) = n!·[zⁿ] Π_j G_j(q_j z).

The coefficient is a mean over the circle |z| = λ. For λ at the saddlepoint the tilted weights of c_j, those at μ_j =
λq_j, have means that add up to n, and what is averaged is the probability that independent c_j with these laws add up
to n, the most probable sum: nothing cancels. The trapezoidal rule with M points adds P(Σc = n ± M), … to it, which
Chernoff's bound puts below rounding. Frequencies end where the product of transforms has decayed; where few cells or
narrow noise keep it from that, the circle is closed by fast transforms.

The derivative is that of the cell's own weights, n!·[zⁿ] z G_j'(q_j z) Π_{i≠j} G_i(q_i z), which is finite at q_j = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from confide.errors import AccuracyError
from confide.likelihood.cells.circle import Circle
from confide.likelihood.cells.nodes import CellNodes, nodes_of
from confide.likelihood.cells.window import CountNoise, middle, window

Floats = NDArray[np.float64]

#: nodes of all cells that an array of weights of one cell may have, and how much wider than the widest window of one θ
#: a shared one may be
_ROOM, _WIDER = 2**20, 3.0
#: standard deviations that the mean of the sum may be off n: e^{1.5²/2} is half a digit
_OFF = 1.5
#: steps of the search for the saddlepoint: each at least halves its bracket, once it has one
_STEPS = 200
#: what Chernoff's bound leaves of a sum that is M away, in logarithms, and the tilts at which it is computed, in the
#: reciprocal of the largest standard deviation of a cell
_ALIASED, _TILTS = 44.0, np.array([0.15, 0.4, 0.7, 0.9])


@dataclass(frozen=True)
class Counted:
    """Published numbers of the cells, (J,) or a row (T, J) for each θ, their noise, and how many records there are."""

    y: Floats
    noise: CountNoise
    n: int

    def log_p(self, q: Floats) -> Floats:
        """log p(y | q) at cell probabilities (T, J)."""
        return self._all(q, slopes=False)[0]

    def log_p_and_slopes(self, q: Floats) -> tuple[Floats, Floats]:
        """The same, and its derivatives in q, each coordinate by itself: (T,) and (T, J)."""
        return self._all(q, slopes=True)

    def _all(self, q: Floats, *, slopes: bool) -> tuple[Floats, Floats]:
        log_p, derivative = np.empty(len(q)), np.zeros(q.shape)
        log_radius = self._start(q)
        waiting = [np.arange(len(q))]
        while waiting:
            rows = waiting.pop()
            some = self if self.y.ndim == 1 else replace(self, y=self.y[rows])
            parts = some._parted(q[rows], log_radius[rows])
            if parts is not None:
                waiting += [rows[part] for part in parts]
                continue
            log_p[rows], derivative[rows] = some._together(q[rows], log_radius[rows], slopes)
        return log_p, derivative

    def _start(self, q: Floats) -> Floats:
        """log λ where the means add up to n as far as `middle` knows them."""
        found = np.full(len(q), math.log(self.n))
        for _ in range(8):
            mean, spread = middle(np, self.noise, np.exp(found)[:, None] * q, self.y)
            step = (self.n - mean.sum(axis=1)) / np.maximum(spread.sum(axis=1), 1e-3)
            found = found + np.clip(step, -1.0, 1.0)
            if np.all(np.abs(step) ** 2 * spread.sum(axis=1) < 0.1):
                break
        return found

    def _parted(self, q: Floats, log_radius: Floats) -> list[NDArray[np.intp]] | None:
        """Two halves of θ whose windows are too far apart, or too many, to share arrays."""
        if len(q) == 1:
            return None
        first, last = window(np, self.noise, np.exp(log_radius)[:, None] * q, self.y)
        shared = last.max(axis=0) - first.min(axis=0) + 1
        if np.all(shared <= _WIDER * (last - first + 1).max(axis=0)) and len(q) * shared.max() <= _ROOM:
            return None
        order = np.argsort(first[:, int(np.argmax(shared))], kind="stable")
        return np.array_split(order, 2)

    def _together(self, q: Floats, log_radius: Floats, slopes: bool) -> tuple[Floats, Floats]:
        """log p and its derivatives at θ that share windows; on whole numbers where panels do not resolve it."""
        for whole in (False, True):
            weights = self._at_the_saddle(q, log_radius, whole=whole)
            found = weights.mean_over_circle(slopes=slopes)
            if found is not None:
                break
        assert found is not None  # whole numbers resolve every frequency
        mass, slope = found
        if not np.all(mass > 0):
            raise AccuracyError("the integral of noisy counts lost its digits; please report it")
        log_p = gammaln(self.n + 1) - self.n * weights.log_radius + weights.log_total.sum(axis=1) + np.log(mass)
        return log_p, slope / mass[:, None]

    def _at_the_saddle(self, q: Floats, start: Floats, *, whole: bool) -> Tilted:
        """Weights at λ with the sum of the means within a standard deviation or so of n; the mean grows with λ."""
        found = start.copy()
        below, above = np.full(len(q), -np.inf), np.full(len(q), np.inf)
        for _ in range(_STEPS):
            weights = Tilted(self, q, found, whole=whole)
            off, spread = weights.mean.sum(axis=1) - self.n, np.sqrt(weights.variance.sum(axis=1))
            far = np.abs(off) > _OFF * spread + 1e-9
            if not np.any(far):
                return weights
            above = np.where(far & (off > 0), np.minimum(above, found), above)
            below = np.where(far & (off < 0), np.maximum(below, found), below)
            step = found - np.clip(off / np.maximum(spread**2, 1e-12), -2.0, 2.0)
            outside = np.isfinite(below) & np.isfinite(above) & ((step <= below) | (step >= above))
            with np.errstate(invalid="ignore"):
                found = np.where(far, np.where(outside, 0.5 * (below + above), step), found)
        raise AccuracyError("the saddlepoint of noisy counts was not found; please report it")


class Tilted:
    """The weights of every cell at μ = λq, on nodes that all θ share."""

    def __init__(self, counted: Counted, q: Floats, log_radius: Floats, *, whole: bool) -> None:
        self.counted, self.q, self.log_radius = counted, q, log_radius
        with np.errstate(divide="ignore"):
            self.log_mu = log_radius[:, None] + np.log(q)
        first, last = window(np, counted.noise, np.exp(self.log_mu), counted.y)
        self.first, self.last = first.min(axis=0), last.max(axis=0)
        whole = whole or counted.y.ndim == 2  # tables of their own have kinks of their own
        middles = np.minimum(counted.noise.scale, np.sqrt(0.5 * (self.first + self.last) + 1))
        self.nodes = [
            nodes_of(low, high, y, scale, whole=whole)
            for low, high, y, scale in zip(self.first, self.last, np.atleast_2d(counted.y)[0], middles, strict=True)
        ]
        self.weights: list[Floats] = []
        self.log_total, self.mean, self.variance = (np.empty(q.shape) for _ in range(3))
        for j, each in enumerate(self.nodes):
            self._fill(j, each)

    def _fill(self, j: int, nodes: CellNodes) -> None:
        """Weights of cell j that add up to one, their mean and variance."""
        counts = nodes.counts
        y = self.counted.y[..., j, None]
        fixed = nodes.log_weights + self.counted.noise.log_g(np, y, counts) - gammaln(counts + 1)
        none = self.q[:, j] == 0
        log_w = np.where(none, 0.0, self.log_mu[:, j])[:, None] * counts + fixed
        if np.any(none):
            log_w[none] = np.where(counts == 0, np.broadcast_to(fixed, log_w.shape)[none], -np.inf)
        top = log_w.max(axis=1)
        log_w -= top[:, None]
        w = np.exp(log_w, out=log_w)
        places = counts - counts[0]
        moments = w @ np.stack([np.ones_like(places), places, places**2], axis=1)
        w /= moments[:, :1]
        above = moments[:, 1] / moments[:, 0]
        self.weights.append(w)
        self.log_total[:, j] = top + np.log(moments[:, 0])
        self.mean[:, j] = counts[0] + above
        self.variance[:, j] = np.maximum(moments[:, 2] / moments[:, 0] - above**2, 0.0)

    def mean_over_circle(self, *, slopes: bool) -> tuple[Floats, Floats] | None:
        """P(Σc = n) and its derivatives; None where nodes do not resolve the frequencies that matter."""
        return Circle(self).mean(self.points(), slopes=slopes)

    def points(self) -> int:
        """M: how many points of the circle keep what is aliased below rounding.

        By Chernoff's bound, P(|Σc − E Σc| ≥ x) ≤ e^{−tx} E e^{±t(Σc − E Σc)}, at a few t.
        """
        largest = np.sqrt(self.variance.max())
        if largest == 0:
            return 2
        tilts = np.concatenate([_TILTS, -_TILTS]) / largest
        log_mgf = np.zeros((len(self.q), tilts.size))
        for j, (nodes, w) in enumerate(zip(self.nodes, self.weights, strict=True)):
            from_mean = nodes.counts - self.mean[:, j].mean()
            exponent = np.outer(from_mean, tilts)
            top = exponent.max(axis=0)
            shift = np.outer(self.mean[:, j].mean() - self.mean[:, j], tilts)
            with np.errstate(divide="ignore"):
                log_mgf += np.log(w @ np.exp(exponent - top)) + top + shift
        far = ((_ALIASED + np.maximum(log_mgf, 0.0)) / np.abs(tilts)).reshape(len(self.q), 2, -1)
        apart = far.min(axis=2).max() + _OFF * np.sqrt(self.variance.sum(axis=1).max()) + 2
        # sums lie between those of the windows' ends, and n among them
        low, high = self.first.sum(), sum(float(nodes.counts[-1]) for nodes in self.nodes)
        low = sum(float(nodes.counts[0]) for nodes in self.nodes)
        n = self.counted.n
        return max(int(min(np.ceil(apart), max(high - n, n - low) + 1)), 2)
