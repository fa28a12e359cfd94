"""The terms w(n) p_n(y | θ) of a scalar sum, by one contour for all n of a window."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from confide._progress import progress
from confide.errors import AccuracyError
from confide.likelihood.noise.transform import DiscreteTransform
from confide.likelihood.totals.inversion import (
    FROM_POLE,
    LEFT_OUT,
    MOST_FREQUENCIES,
    MOST_NUMBERS,
    PEELED,
    PROBES,
    NumberTerms,
    TiltedRecords,
    TiltedSum,
    accumulated,
    log_noise,
    saddle,
    windows,
)
from confide.mechanism.noise import Noise

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]
#: log w(n)
LogWeight = Callable[[Floats], Floats]
#: log p_n(y | θ) of a public n at some θ, which are told by their places
Alone = Callable[[int, NDArray[np.intp]], Floats]

#: the nats that rounding leaves of what is summed, with eight digits to spare
_DIGITS = -16.0
#: θ that are looked at together, and how much wider the windows of two of them may be together than one
_TOGETHER, _WIDER = 64, 1.6


def number_terms(
    records: TiltedRecords,
    y: float,
    noise: Noise,
    log_weight: LogWeight,
    hull: Floats,
    known: tuple[float | None, float],
    alone: Alone,
) -> list[tuple[NDArray[np.intp], NumberTerms | None]]:
    """The terms at all θ, in groups of θ that share a window; None where they cannot be summed, or not believed.

    `known` is the spacing of the lattice of s, if it has one, and the frequency up to which records have a transform.
    """
    ends = windows(records, y, noise, log_weight, hull)
    found: list[tuple[NDArray[np.intp], NumberTerms | None]] = []
    for group in progress(_groups(ends), "numbers of records"):
        low, high = float(ends[group, 0].min()), float(ends[group, 1].max())
        if high - low >= MOST_NUMBERS:
            found.append((group, None))
            continue
        numbers = np.arange(low, high + 1.0)
        log_w = log_weight(numbers)
        try:
            terms = _of_group(records[group], y, noise, numbers, log_w, known, lambda n: alone(n, group))  # noqa: B023
        except AccuracyError:
            found.append((group, None))
        else:
            lost = np.isnan(terms).any(axis=1)
            found += [(group[~lost], NumberTerms(numbers, terms[~lost]))] if not np.all(lost) else []
            found += [(group[lost], None)] if np.any(lost) else []
    return found


def _groups(ends: Floats) -> list[NDArray[np.intp]]:
    """θ whose windows are alike."""
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    groups: list[list[int]] = []
    low = high = widest = 0.0
    for i in order:
        a, b = ends[i]
        union = max(high, b) - min(low, a) + 1
        if groups and len(groups[-1]) < _TOGETHER and union <= _WIDER * max(widest, b - a + 1, 64.0):
            groups[-1].append(int(i))
            low, high, widest = min(low, a), max(high, b), max(widest, b - a + 1)
        else:
            groups.append([int(i)])
            low, high, widest = a, b, b - a + 1
    return [np.asarray(group) for group in groups]


def _of_group(
    records: TiltedRecords,
    y: float,
    noise: Noise,
    numbers: Floats,
    log_w: Floats,
    known: tuple[float | None, float],
    alone: Callable[[int], Floats],
) -> Floats:
    lattice, highest = known
    if lattice is not None:
        return _on_lattice(records, y, noise, numbers, log_w, lattice)
    for peeled in PEELED:
        rest = numbers >= peeled
        terms = np.full((len(records.s), numbers.size), -np.inf)
        if np.any(rest):
            found = _on_continuum(records, y, noise, numbers[rest], log_w[rest], highest)
            if found is None:
                continue
            terms[:, rest] = found
        for i in np.flatnonzero(~rest & (log_w > -np.inf)):
            terms[:, i] = log_w[i] + alone(int(numbers[i]))
        return terms
    raise AccuracyError(f"the transform of a record decays too slowly for y = {y:g}")


def _on_lattice(records: TiltedRecords, y: float, noise: Noise, numbers: Floats, log_w: Floats, h: float) -> Floats:
    """Σ_k P_n(S = kh) g(y − kh): both in the frequencies of one period, of a tilted law of which nothing is aliased."""
    tau = saddle(records, y, 0.0 if noise.exponential else float(noise.scale) ** 2, numbers, log_w)
    if noise.exponential:
        tau = np.clip(tau, -1 / float(noise.scale), 1 / float(noise.scale))
    tilted = TiltedSum.at(records, tau, numbers, log_w)
    low, high = tilted.ends(numbers)
    widest = np.max(np.where(records.mass > 0, np.abs(records.s), 0.0))
    most = numbers[-1] * np.asarray([min(0.0, records.s.min()), max(0.0, records.s.max())])
    first = int(np.floor(max(low.min() - 45 * widest, most[0]) / h))
    last = int(np.ceil(min(high.max() + 45 * widest, most[1]) / h))
    size = 1 << max(last - first, 1).bit_length()
    if size > 2**18:
        raise AccuracyError("a lattice of too many points")
    k = first + np.arange(size)
    log_g = log_noise(noise, y, k * h)
    exponent = log_g - tau[:, None] * (k * h)
    exponent[:, k > last] = -np.inf
    top = exponent.max(axis=1)
    weights = np.exp(exponent - top[:, None])
    j = np.arange(size // 2 + 1)
    t: Floats = np.asarray(2 * math.pi * j / (size * h))
    # Σ_k g e^{−ζkh} at ζ = τ + it, and each frequency but the first and the last stands for two
    transform: Any = np.fft.rfft(weights, axis=1) * np.exp(-1j * t * (first * h))
    transform *= np.where((j == 0) | (j == size // 2), 1.0, 2.0) / size
    log_z = tilted.log_phase(records, t)
    least = tilted.least(numbers)
    # frequencies at which no number of records has anything left
    kept = np.any(least[:, None] * log_z.real + np.log(tilted.share.sum(axis=1))[:, None] > math.log(LEFT_OUT), axis=0)
    terms = accumulated(log_z[:, kept], transform[:, kept], float(numbers[0]), numbers.size)
    return _believed(_log_terms(terms, top, tilted), top, tilted, transform[:, kept])


def _believed(logs: Floats, log_scale: Floats, tilted: TiltedSum, coefficients: Any) -> Floats:
    """Terms, or NaN at θ where their sum is hardly more than the rounding of what was summed."""
    rounding = np.log(np.sum(np.abs(coefficients), axis=1) * tilted.share.sum(axis=1)) + log_scale + tilted.top
    with np.errstate(divide="ignore"):
        lost = ~(logsumexp(logs, axis=1) > rounding + _DIGITS)
    return np.where(lost[:, None], np.nan, logs)


def _log_terms(terms: Floats, log_scale: Floats, tilted: TiltedSum) -> Floats:
    """log of w(n) M(τ)ⁿ times what was summed for each n; what rounding made negative is nothing beside the others."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(terms > 0, np.log(terms) + tilted.exponent + log_scale[:, None], -np.inf)


def _on_continuum(
    records: TiltedRecords, y: float, noise: Noise, numbers: Floats, log_w: Floats, highest: float
) -> Floats | None:
    """The integral along a contour; None where the transform does not decay."""
    gaussian = not noise.exponential
    variance = float(noise.scale) ** 2 if gaussian else 0.0
    tau = saddle(records, y, variance, numbers, log_w)
    if not gaussian:
        # beyond a pole the residue is the density, and a contour a little further says the rest
        rate = 1 / float(noise.scale)
        there = TiltedSum.at(records, np.clip(tau, -rate, rate), numbers, log_w)
        furthest = rate + 2 * FROM_POLE / np.sqrt(_variance(there, numbers))
        tau = np.clip(tau, -furthest, furthest)
    tilted = TiltedSum.at(records, tau, numbers, log_w)
    low, high = tilted.ends(numbers)
    spread = np.sqrt(_variance(tilted, numbers) + variance)
    if not gaussian:
        # noise that is wide beside the sum has its poles close together: between them there is room for half of that
        rate = 1 / float(noise.scale)
        tau, crossed = _off_the_pole(tau, rate, np.minimum(FROM_POLE / spread, rate / 2), may_cross=noise.step is None)
        tilted = TiltedSum.at(records, tau, numbers, log_w)
        low, high = tilted.ends(numbers)
    else:
        crossed = np.zeros(len(tau))
    reach = 13 * float(noise.scale) if gaussian else 41 * float(noise.scale)
    away = np.abs(1 / float(noise.scale) - np.abs(tau)) if not gaussian else np.inf
    own = np.minimum(reach, 41 / away) if not gaussian else reach
    width = float(np.max(np.maximum(high, y) - np.minimum(low, y) + own + 4 * spread))
    step = 2 * math.pi / width
    last = _last_frequency(records, tilted, tau, noise, numbers, float(np.max(spread)), highest)
    if last is None or last / step > MOST_FREQUENCIES:
        return None
    t: Any = step * np.arange(math.ceil(last / step) + 1)
    log_n = _log_transform(noise, tau[:, None] + 1j * t)
    log_scale = log_n[:, 0].real
    coefficients: Any = np.exp(log_n - log_scale[:, None] - 1j * t * y) * (step / (2 * math.pi))
    coefficients[:, 1:] *= 2
    terms = accumulated(tilted.log_phase(records, t), coefficients, float(numbers[0]), numbers.size)
    logs = np.log(np.abs(terms) + 1e-320) + tilted.exponent + (log_scale - tau * y)[:, None]
    signs = np.sign(terms)
    if np.any(crossed != 0):
        pole = crossed / float(noise.scale)
        log_m, _ = records.tilted(np.where(crossed != 0, pole, 0.0))
        residue = log_w + numbers * log_m[:, None] + (-pole * y - math.log(2 * float(noise.scale)))[:, None]
        residue = np.where(crossed[:, None] != 0, residue, -np.inf)
        top = np.maximum(logs, residue)
        total = signs * np.exp(logs - top) + np.exp(residue - top)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(total > 0, np.log(total) + top, -np.inf)
    else:
        logs = np.where(signs > 0, logs, -np.inf)
    return _believed(logs, log_scale - tau * y, tilted, coefficients)


def _variance(tilted: TiltedSum, numbers: Floats) -> Floats:
    share = tilted.share / tilted.share.sum(axis=1, keepdims=True)
    mean = share @ numbers
    between = np.sum(share * np.square(numbers - mean[:, None]), axis=1)
    return np.asarray(mean * tilted.variance + between * tilted.mean**2 + 1e-300)


def _off_the_pole(tau: Floats, pole: float, distance: Floats, *, may_cross: bool) -> tuple[Floats, Floats]:
    """τ moved away from the poles at ±1/b, and which of them it has passed (±1, or 0)."""
    candidates = np.stack([tau, *(side * pole + way * distance for side in (-1, 1) for way in (-1, 1))])
    if not may_cross:
        inside = np.maximum(pole - distance, 0.2 * pole)
        return np.clip(tau, -inside, inside), np.zeros(len(tau))
    apart = np.minimum(np.abs(candidates - pole), np.abs(candidates + pole))
    allowed = apart >= distance * (1 - 1e-9)
    chosen = np.argmin(np.where(allowed, np.abs(candidates - tau), np.inf), axis=0)
    tau = candidates[chosen, np.arange(tau.size)]
    return tau, np.where(tau > pole, 1.0, np.where(tau < -pole, -1.0, 0.0))


def _log_transform(noise: Noise, zeta: Any) -> Complex:
    """log N(ζ), of a density; of masses on a lattice, with the box that rounding to it is."""
    if noise.step is not None:
        with jax.enable_x64(True):
            transform = DiscreteTransform(float(noise.scale), float(noise.step), gaussian=not noise.exponential)
            flat = transform(jnp.asarray(np.ravel(zeta)), jnp.zeros(zeta.size))
        return np.asarray(flat).reshape(zeta.shape)
    scaled = float(noise.scale) * zeta
    return np.asarray(-np.log(1 - scaled**2 + 0j) if noise.exponential else 0.5 * scaled**2 + 0j)


def _last_frequency(
    records: TiltedRecords, tilted: TiltedSum, tau: Floats, noise: Noise, numbers: Floats, spread: float, highest: float
) -> float | None:
    """The frequency beyond which next to nothing is left at any θ, judged by frequencies on a scale of powers."""
    t = PROBES / spread
    least = tilted.least(numbers)
    log_n = _log_transform(noise, tau[:, None] + 1j * t).real - _log_transform(noise, tau[:, None] + 0j).real
    if noise.step is not None:
        log_n = np.minimum(log_n, 0.0)
    if _never_decays(tilted, least, log_n + np.log(t * spread), t <= highest):
        return None
    served = np.minimum(t, highest)
    log_z = tilted.log_phase(records, served).real
    # beyond what the nodes serve it is as large as it was in the last octaves
    top = np.max(log_z[:, (t > highest / 8) & (t <= highest)], axis=1, initial=-700.0)
    log_z = np.where(t > highest, top[:, None], log_z)
    # whatever comes back later is counted as if it were there
    later = np.maximum.accumulate(log_z[:, ::-1], axis=1)[:, ::-1]
    left = least[:, None] * later + log_n + np.log(t * spread)
    small = np.all(left < math.log(LEFT_OUT), axis=0)
    lasting = np.logical_and.accumulate(small[::-1])[::-1]
    last = float(t[np.argmax(lasting)]) if np.any(lasting) else np.inf
    return last if last <= highest else None


def _never_decays(tilted: TiltedSum, least: Floats, log_rest: Floats, served: NDArray[np.bool_]) -> bool:
    """Whether something is left at the last frequency that is served, seen without a transform.

    A point of mass m leaves |M(τ + it)| ≥ 2m − 1 at every t. At θ far from what was published next to all records are
    clipped to one bound, and the search for the mass of a posterior asks for many of those.
    """
    with np.errstate(divide="ignore"):
        floor = np.log(np.maximum(2.0 * tilted.mass.max(axis=1) - 1.0, 0.0))
    # of no record the transform is 1, whatever the floor
    log_sum = np.multiply(least, floor, out=np.zeros_like(floor), where=least > 0)
    return bool(np.any(log_sum + log_rest[:, np.count_nonzero(served) - 1] >= math.log(LEFT_OUT)))
