"""Samples whose records all sit in atoms, or all but one: what they contribute to p(y | θ), in closed form.

s(clip X) has an atom wherever s is flat on a set of positive mass: at both bounds, on a branch of `where`, below a
threshold. With α the transform of the atoms, ψ that of the rest and φ = α + ψ,

    φⁿ = αⁿ + n αⁿ⁻¹ ψ + …        (none, one, more records outside the atoms)

ψ decays, but α is almost periodic and comes back for ever. Its n-th power is the transform of finitely many sums of
atoms, and p(y) has one noise density for each of them. With one record outside there is one integral more, that of the
record's density times the noise, whose kink is integrated exactly: on its panel the polynomial through the nodes is.
What is left decays twice as fast as the noise's own transform at least, and is the business of `contour_sums`.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from confide.likelihood.noise.lattice import finite_values
from confide.likelihood.noise.values_of_rows import atoms_of_rows
from confide.likelihood.record_law.panels import TO_LEGENDRE, panel_rule
from confide.likelihood.record_law.pieces import pieces_of, s_at
from confide.likelihood.record_law.record import NODES, ORDER, WEIGHTS
from confide.likelihood.record_law.skeleton import frame
from confide.population import Population
from confide.statistic import Statistic

Floats = NDArray[np.float64]

#: ways to put n records in the atoms that are enumerated at most
_MOST_WAYS = 200_000
#: values so near to an atom, in ranges of s, are taken to be in it: no noise that is served tells them apart
_NEAR = 1e-12
#: a sum beside which terms that underflow are nothing
_FAINT = 1e-280
#: a root that is off by δ moves an integral over a kink by δ²
_BISECTIONS = 26
_FINE = np.polynomial.legendre.leggauss(20)


def atom_values(population: Population, statistic: Statistic) -> Floats:
    """The values of s(clip X) that may have positive probability, in order.

    >>> from confide import populations
    >>> from confide.statistic import Mean
    >>> atom_values(populations.normal(), Mean("max(x, 0)", bounds=(-1, 2))).tolist()
    [0.0, 2.0]
    """
    known = finite_values(population, statistic)
    if known is not None:
        return np.asarray(known)
    if population.rows is not None:
        return np.asarray(atoms_of_rows(population, statistic))
    pieces = pieces_of(statistic)
    flat = np.flatnonzero(pieces.directions == 0)
    on_flats = [float(pieces.values(np.mean(pieces.ends[i : i + 2]), int(i))[0]) for i in flat]
    ends = [*s_at(statistic, np.asarray(statistic.bounds))[0], *frame(population, statistic).atoms[0]]
    found = np.sort(np.asarray([*on_flats, *ends]))
    apart = np.diff(found, prepend=-np.inf) > _NEAR * (found[-1] - found[0] + 1e-300)
    return np.asarray(found[apart])


def nearest_atom(s: Floats, atoms: Floats) -> NDArray[np.intp]:
    """Which atom each value sits in; −1 for none."""
    if atoms.size == 0:
        return np.full(s.shape, -1)
    chosen = np.searchsorted(0.5 * (atoms[1:] + atoms[:-1]), s)
    return np.where(np.abs(s - atoms[chosen]) <= _NEAR * (s.max() - s.min()), chosen, -1)


@dataclass(frozen=True, eq=False)
class Ways:
    """All ways to put some records into atoms: how many sit in each (C, atoms), and the log of the number of orders."""

    counts: Floats
    log_orders: Floats

    def log_mass(self, shares: Floats) -> Floats:
        """Their log probabilities (B, C), given those of each atom (B, atoms)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            each = [
                np.where(count > 0, count * np.log(shares[:, a, None]), 0.0) for a, count in enumerate(self.counts.T)
            ]
        return np.asarray(self.log_orders + sum(each))


def too_many(records: int, atoms: int) -> bool:
    """Whether there are too many ways to enumerate."""
    return math.comb(records + atoms - 1, atoms - 1) > _MOST_WAYS


@functools.lru_cache(maxsize=16)
def ways(records: int, atoms: int) -> Ways:
    """Every way to put that many records in so many atoms."""

    def parts(total: int, places: int) -> Floats:
        if places == 1:
            return np.asarray([[float(total)]])
        if places == 2:
            first = np.arange(total + 1.0)
            return np.stack([first, total - first], axis=1)
        rows = [np.pad(parts(total - k, places - 1), [(0, 0), (1, 0)], constant_values=k) for k in range(total + 1)]
        return np.concatenate(rows)

    counts = parts(records, atoms)
    return Ways(counts, gammaln(records + 1.0) - gammaln(counts + 1.0).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Part:
    """A part of p(y | θ): its log (B, Y), and its derivative in θ over p itself (B, Y, d) if that was asked."""

    log_prob: Floats
    slope: Floats | None = None


def weighted(log_terms: Floats, relative: Floats | None) -> Part:
    """Σ of terms on the last axis (B, Y, C), and of their relative derivatives (B, …, C, d) with the same weights."""
    top = log_terms.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    share = np.exp(log_terms - top)
    total = share.sum(axis=-1)
    with np.errstate(divide="ignore"):
        log_prob = np.log(total) + top[..., 0]
    if relative is None:
        return Part(log_prob)
    relative = np.broadcast_to(relative, (*share.shape, relative.shape[-1]))
    return Part(log_prob, np.einsum("byc,bycd->byd", share, relative) / np.where(total > 0, total, 1.0)[..., None])


def all_in_atoms(n: int, shares: Floats, slopes: Floats | None, log_noise: Floats) -> Part:
    """No record outside: `log_noise` (Y, C) is the log density of the noise between y and the mean of each way.

    Shares of the atoms are (B, atoms), their slopes (B, atoms, d).
    """
    some = ways(n, shares.shape[1])
    log_mass = some.log_mass(shares)
    if slopes is None:
        tops = log_mass.max(axis=1, keepdims=True), log_noise.max(axis=1)
        total = np.exp(log_mass - tops[0]) @ np.exp(log_noise - tops[1][:, None]).T
        if np.all(total > _FAINT):  # a product of matrices, where nothing that matters underflows
            return Part(np.log(total) + tops[0] + tops[1])
    return weighted(log_mass[:, None] + log_noise, None if slopes is None else _relative(some, shares, slopes)[:, None])


def _relative(some: Ways, shares: Floats, slopes: Floats) -> Floats:
    """∂ log probability of each way (B, C, d), from those of the atoms' shares."""
    held = shares[..., None] > 0
    return np.asarray(some.counts @ np.where(held, slopes / np.where(held, shares[..., None], 1.0), 0.0))


@dataclass(frozen=True, eq=False)
class Outside:
    """A record outside the atoms: values s (J,) in panels of sixteen nodes first, its weights (B, J), and their slopes.

    `panels` says how many panels there are; weights of nodes in atoms are zero. Slopes of weights are (B, d, J) and
    None where they are not asked for.
    """

    s: Floats
    weights: Floats
    panels: int
    weight_slopes: Floats | None = None

    @functools.cached_property
    def legendre(self) -> Floats:
        """s on each panel as a polynomial (panels, 16)."""
        return self.s[: self.panels * ORDER].reshape(-1, ORDER) @ TO_LEGENDRE.T

    @functools.cached_property
    def ends(self) -> Floats:
        """The least and the largest s of each panel (2, panels): it is monotone there."""
        return np.sort(np.polynomial.legendre.legval(np.asarray([-1.0, 1.0]), self.legendre.T).T, axis=0)

    @functools.cached_property
    def range(self) -> tuple[float, float]:
        """Between which values the record lies, at any θ."""
        mass = self.weights.max(axis=0)[: self.panels * ORDER].reshape(-1, ORDER).max(axis=1)
        if not np.any(mass > 0):
            return 0.0, 0.0
        return float(self.ends[0, mass > 0].min()), float(self.ends[1, mass > 0].max())


def one_outside(
    n: int, atoms: Floats, shares: Floats, slopes: Floats | None, record: Outside, y: Floats, b: float
) -> Part:
    """One record outside the atoms, under Laplace noise of scale b on the mean."""
    some = ways(n - 1, atoms.size)
    z = n * y[:, None] - some.counts @ atoms  # what is left for the record
    log_h, relative = _noisy_record(record, z, n * b)
    terms = log_h
    terms += some.log_mass(shares)[:, None] + math.log(n / (2.0 * b))
    if slopes is None or relative is None:
        return weighted(terms, None)
    return weighted(terms, relative + _relative(some, shares, slopes)[:, None])


def _noisy_record(record: Outside, z: Floats, scale: float) -> tuple[Floats, Floats | None]:
    """log Σ_j w_j e^{−|z − s_j|/scale} at all z (B, Y, C), and its derivatives in θ relative to it (B, Y, C, d).

    Beyond the range of s it is an exponential; so only z within the range are summed.
    """
    inside = np.clip(z, *record.range)
    points, place = np.unique(inside, return_inverse=True)
    place = place.reshape(z.shape)
    slopes = record.weight_slopes
    rows = max(1, 4_000_000 // record.s.size)
    h: list[Floats] = []
    dh: list[Floats] = []
    for first in range(0, points.size, rows):
        matrix = kernel(record, points[first : first + rows], scale)
        h.append(record.weights @ matrix.T)
        if slopes is not None:
            dh.append(slopes @ matrix.T)
    summed = np.concatenate(h, axis=-1)  # (B, Z)
    with np.errstate(
        divide="ignore"
    ):  # where no record is, what is left of a positive integral is rounding of either sign
        log_h = np.log(np.maximum(summed, 0.0))[:, place]
    log_h -= np.abs(z - inside) / scale
    if slopes is None:
        return log_h, None
    safe = np.where(summed > 0, summed, np.inf)[:, None]
    relative: Floats = np.concatenate(dh, axis=-1) / safe
    return log_h, np.moveaxis(relative[..., place], 1, -1)


def kernel(record: Outside, z: Floats, scale: float) -> Floats:
    """e^{−|z − s|/scale} (Z, J) as a matrix on weights, its kink integrated exactly."""
    matrix = np.exp(-np.abs(z[:, None] - record.s) / scale)
    row, panel = np.nonzero((z[:, None] > record.ends[0]) & (z[:, None] < record.ends[1]))
    if row.size == 0:
        return matrix
    coefficients = record.legendre[panel]
    root = _root(coefficients, z[row])
    ends = np.stack([np.full_like(root, -1.0), root, np.ones_like(root)], axis=1)
    xi, weights = (part.reshape(root.size, -1) for part in panel_rule(ends[:, :-1], ends[:, 1:], _FINE))
    basis = np.polynomial.legendre.legvander(xi, ORDER - 1)
    gap = z[row, None] - np.einsum("qfk,qk->qf", basis, coefficients)
    g = weights * np.exp(-np.abs(gap) / scale)
    columns = panel[:, None] * ORDER + np.arange(ORDER)
    matrix[row[:, None], columns] = np.einsum("qf,qfk->qk", g, basis) @ TO_LEGENDRE / WEIGHTS
    return matrix


def _root(coefficients: Floats, z: Floats) -> Floats:
    """Where the polynomial, monotone on [−1, 1], is z."""
    low, high = np.full_like(z, -1.0), np.ones_like(z)
    ends = np.polynomial.legendre.legvander(np.asarray([NODES[0], NODES[-1]]), ORDER - 1) @ coefficients.T
    up = np.sign(ends[1] - ends[0])
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        here = np.sum(np.polynomial.legendre.legvander(middle, ORDER - 1) * coefficients, axis=1)
        right = up * (here - z) < 0
        low, high = np.where(right, middle, low), np.where(right, high, middle)
    return 0.5 * (low + high)
