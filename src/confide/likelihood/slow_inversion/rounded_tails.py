"""The law of a mean that is rounded to a lattice far coarser than itself, by the tails of the mean.

When noise on such a lattice comes back, at 2π/step, the transform of the mean is hardly any smaller, and p(y) has no
short inversion. But p(y) = Σ_k q_k g(y − k), with q_k the probability that the mean is rounded to k, a difference of
two tails

    P(mean > b) = 1/2π ∫ exp(n log M(ζ/n) − ζb)/ζ dt,      ζ = τ + it, τ > 0,

of which few are neither 0 nor 1, and which are inverted on the mean's own scale (Lugannani and Rice 1980 expand this
integral; here it is summed). The trapezoidal rule of step δ adds the tails at b ± 2πj/δ times e^{±2πjτ/δ}; twice the
step says by how much at most. Beyond the last frequency |M|ⁿ is bounded by the mass of the atoms and the largest
modulus of the rest. Few records with atoms do not decay: of their tails Chernoff's bound is known, which is enough
where the noise has hardly any chance to tell of them; else they are left to cells (`rounded_sums`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from confide.errors import AccuracyError
from confide.likelihood.batched import filled
from confide.likelihood.inversion.atoms import atom_values, nearest_atom
from confide.likelihood.inversion.frequencies import Group
from confide.likelihood.noise.channel import noise_step
from confide.likelihood.noise.density import log_noise
from confide.likelihood.record_law.moments import Nodes, nodes_at
from confide.likelihood.slow_inversion.pairs import law_for_frequency

Floats = NDArray[np.float64]

#: the last frequency and the period of the tails, in spreads of the mean; and the least τ
_LAST, _PERIOD, _LEAST = 24.0, 64.0, 1.5
#: halves between points at which a tail is asked for, at most; steps to a saddlepoint, and its furthest, in spreads
_MOST, _STEPS, _FURTHEST = 64, 30, 30.0
#: radians of e^{ius} across the range of s: a law of hardly any spread would need more nodes than cells do
_MOST_TURNS = 4000.0
#: the logarithm of a sum of terms of size one above which no tail is told by it
_HUGE = 300.0
#: the frequencies, counted from the last, on which what lies beyond is judged; rounding of a sum of terms of size one
_JUDGED, _ROUNDING = 0.25, 4e-16


def log_likelihood(group: Group, thetas: Floats, y: Floats) -> tuple[Floats, Floats]:
    """log p at all θ (M, d) and values (Y,), and how far off p may be, relative to it; infinite where not served."""
    model = group.model
    n, step = int(model.channel.n), noise_step(group.inversion.transform)
    log_p, error = np.full((len(thetas), y.size), -np.inf), np.full((len(thetas), y.size), np.inf)
    for rows in _alike(group, thetas):
        try:
            laws = _laws(group, thetas[rows])
        except AccuracyError:
            continue
        for row, (s, mass, in_atoms) in zip(rows, laws, strict=False):  # there may be none
            found = _rounded(s, mass, in_atoms, n, step)
            if found is None:
                continue
            first, q, doubt = found
            log_g = log_noise(group.inversion.transform, y[:, None] - step * (first + np.arange(q.size)))
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                log_p[row] = logsumexp(log_g + np.log(np.maximum(q, 0.0)), axis=1)
                unsure = logsumexp(log_g + np.log(doubt), axis=1)
                error[row] = np.where(log_p[row] > -np.inf, np.exp(unsure - log_p[row]), np.inf)
    return log_p, error


def _alike(group: Group, thetas: Floats) -> list[NDArray[np.intp]]:
    """θ whose records spread alike: nodes that follow the frequencies of one follow those of the others."""
    spread = _spreads(nodes_at(group.law, filled(thetas)), len(thetas))
    octave = np.floor(np.log2(np.maximum(spread, 1e-300)) / 2)
    return [np.flatnonzero((octave == each) & (spread > 0)) for each in np.unique(octave)]


def _spreads(nodes: Nodes, count: int) -> Floats:
    mass = np.asarray(nodes.weights)[:count]
    s = np.broadcast_to(np.asarray(nodes.s), (len(nodes.weights), mass.shape[1]))[:count]
    mean = np.sum(mass * s, axis=1, keepdims=True)
    return np.asarray(np.sqrt(np.sum(mass * (s - mean) ** 2, axis=1)))


def _laws(group: Group, thetas: Floats) -> list[tuple[Floats, Floats, NDArray[np.bool_]]]:
    """Values of a record at each θ, their probabilities and whether they are atoms; as fine as frequencies ask."""
    if len(thetas) == 0:
        return []
    spread = float(_spreads(nodes_at(group.law, filled(thetas)), len(thetas)).min())
    frequency = _LAST / (spread * math.sqrt(group.model.channel.n))
    low, high = group.model.channel.statistic.ranges[0]
    if frequency * (high - low) > _MOST_TURNS:
        return []
    law = law_for_frequency(group, thetas, frequency)
    nodes = nodes_at(law, filled(thetas))
    mass = np.asarray(nodes.weights)[: len(thetas)]
    values = np.broadcast_to(np.asarray(nodes.s), (len(nodes.weights), mass.shape[1]))
    atoms = atom_values(group.model.population, group.model.channel.statistic)
    held = [each > 0 for each in mass]
    every = zip(values, mass, held, strict=False)
    return [(s[some], w[some], nearest_atom(s[some], atoms) >= 0) for s, w, some in every]


def _rounded(
    s: Floats, mass: Floats, in_atoms: NDArray[np.bool_], n: int, step: float
) -> tuple[float, Floats, Floats] | None:
    """The first point that the mean of n such records may be rounded to; the probability of each, and its error."""
    mean = float(mass @ s)
    spread = math.sqrt(float(mass @ (s - mean) ** 2) / n)
    # nodes do not reach the ends of what they stand for: a half beyond all values costs nothing, for its tail is 0
    first, last = math.floor(float(s.min()) / step) - 1, math.ceil(float(s.max()) / step) + 1
    if spread == 0 or last - first > _MOST:
        return None
    b: Floats = np.asarray(step * (np.arange(first, last) + 0.5), dtype=np.float64)
    side = np.where(b > mean, 1.0, -1.0)
    tau = _saddles(s, mass, n, b, side, spread)
    tail, doubt = _inverted(s - mean, mass, in_atoms, n, b - mean, tau, spread)
    # P(mean > b) on the right of the mean, P(mean < b) on the left of it: 0 and 1 beyond all halves
    ends = np.concatenate([[-1.0], side, [1.0]])
    tail, doubt = (np.concatenate([[0.0], each, [0.0]]) for each in (tail, doubt))
    both = ends[1:] * ends[:-1] < 0
    q = np.where(both, 1.0 - tail[1:] - tail[:-1], np.abs(tail[1:] - tail[:-1]))
    return float(first), q, doubt[1:] + doubt[:-1] + np.finfo(float).tiny


def _saddles(s: Floats, mass: Floats, n: int, b: Floats, side: Floats, spread: float) -> Floats:
    """τ of n records at which the tilted mean is b, or as near as it may come, never nearer to 0 than a little."""
    low, high = np.full(b.size, _LEAST / spread), np.full(b.size, _FURTHEST / spread)
    for _ in range(_STEPS):
        tau = 0.5 * (low + high)
        exponent = (side * tau)[:, None] / n * s
        tilted = mass * np.exp(exponent - exponent.max(axis=1, keepdims=True))
        beyond = side * (tilted @ s / tilted.sum(axis=1) - b) > 0
        low, high = np.where(beyond, low, tau), np.where(beyond, tau, high)
    return np.asarray(side * 0.5 * (low + high))


def _inverted(
    s: Floats, mass: Floats, in_atoms: NDArray[np.bool_], n: int, b: Floats, tau: Floats, spread: float
) -> tuple[Floats, Floats]:
    """The tails at b, on the side of the sign of τ, and their errors; s and b are measured from the mean."""
    delta = 2.0 * math.pi / (_PERIOD * spread)
    t = delta * np.arange(2 * math.ceil(_LAST * _PERIOD / (4.0 * math.pi)) + 1)
    exponent = tau[:, None] / n * s
    shift = exponent.max(axis=1, keepdims=True)
    tilted = mass * np.exp(exponent - shift)
    total = tilted.sum(axis=1, keepdims=True)
    tilted /= total
    turns = np.exp(1j / n * np.outer(s, t))
    outside = np.where(in_atoms, 0.0, tilted)
    psi = outside @ turns
    terms = (psi + (tilted - outside) @ turns) ** n * np.exp(-1j * b[:, None] * t) / (tau[:, None] + 1j * t)
    terms[:, 0] *= 0.5
    exponent = n * (np.log(total) + shift)[:, 0] - tau * b
    served = exponent < _HUGE
    scale = np.exp(np.where(served, exponent, 0.0)) * delta / math.pi * np.sign(tau)
    fine, coarse = scale * terms.real.sum(axis=1), scale * (2.0 * terms[:, ::2].real.sum(axis=1))
    # |M|ⁿ beyond the last frequency, over t: the rest of a record falls off like 1/t, its atoms do not
    modulus = np.abs(psi[:, int((1.0 - _JUDGED) * t.size) :]).max(axis=1)
    atoms = (tilted - outside).sum(axis=1)
    left = np.where(served & (atoms**n < _ROUNDING), np.abs(scale) / delta * (atoms + modulus) ** n, np.inf)
    doubt = np.abs(fine - coarse) + left + _ROUNDING * np.abs(scale) * np.abs(terms).sum(axis=1)
    # Chernoff: no tail is more than this. Where only atoms can be so far out nothing else is known of it, nor needed
    most = np.where(served, np.exp(np.where(served, exponent, 0.0)), np.inf)
    bounded = doubt > most
    return np.where(bounded, 0.5 * most, np.maximum(fine, 0.0)), np.where(bounded, 0.5 * most, doubt)
