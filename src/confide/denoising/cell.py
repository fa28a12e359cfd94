"""What a noisy number says of one count: masses of the whole numbers that it may stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.denoising.masses import CountMasses, Floats
from confide.errors import IncompatibleError
from confide.likelihood.noise.between import ends_on, log_between
from confide.mechanism import Noise
from confide.processing import Processed

#: noise further out than this has a mass below e^−45 of its largest
_LAPLACE, _GAUSSIAN = 45.0, 9.5
#: counts of one cell that are looked at, at most
_MOST_COUNTS = 10_000_000


@dataclass(frozen=True)
class NoisyCell:
    """A published number, the noise that it has (none: it is the count), and what was done to it afterwards."""

    y: float
    noise: Noise | None
    processed: Processed | None = None


def masses_of(cell: NoisyCell, log_prior: Any, *, nonnegative: bool) -> CountMasses:
    """The posterior masses of a count by itself, up to a factor."""
    noise, y = cell.noise, cell.y
    if noise is None:
        return CountMasses(int(y), np.ones(1))
    reach = float(noise.scale) * (_LAPLACE if noise.exponential else _GAUSSIAN) + float(noise.step or 1.0) + 2
    low, high = _between(cell)
    first, last = low - reach, high + reach
    if not (np.isfinite(first) and np.isfinite(last)) and not nonnegative and log_prior is None:
        raise IncompatibleError(
            f"{y:g} was published {cell.processed}, which leaves room for any count on one side; say what is "
            "believed beforehand, by nonnegative=True or a prior"
        )
    if nonnegative or not np.isfinite(first):
        first, last = max(first, 0.0), max(last, reach)
    if not np.isfinite(last):
        last = _end_of(log_prior, max(first, 0.0) + reach)
    counts = np.arange(np.floor(first), np.ceil(last) + 1)
    log_p = log_noise(cell, counts)
    if log_prior is not None:
        log_p = log_p + log_prior(counts)
    if not np.any(log_p > -np.inf):
        raise IncompatibleError(f"no count that the prior allows explains {y:g}; give a wider prior")
    return CountMasses(int(counts[0]), np.exp(log_p - log_p.max())).scaled()


def _end_of(log_prior: Any, start: float) -> float:
    """Where a prior has nothing left, for a count of which it is only known that it is large."""
    if log_prior is None:
        raise IncompatibleError("a count that was clamped from above may be any larger one; give a prior, or totals")
    top, end = -np.inf, start
    while end < _MOST_COUNTS:
        seen = log_prior(np.arange(np.floor(end / 2), np.ceil(end) + 1))
        top = max(top, float(seen.max()))
        if top > -np.inf and seen[-1] < top - _LAPLACE:
            return float(end)
        end *= 2
    raise IncompatibleError(f"the prior of a count reaches beyond {_MOST_COUNTS:,}; give one that ends sooner")


def _between(cell: NoisyCell) -> tuple[float, float]:
    """Where the noisy count lay: at y, or between two numbers."""
    found = None if cell.processed is None else cell.processed.lies(cell.y)
    return (cell.y, cell.y) if found is None else found


def log_noise(cell: NoisyCell, counts: Floats) -> Floats:
    """log g(y | c) of counts, up to a constant, or of what is known of y: in NumPy, as windows have many lengths."""
    noise, y = cell.noise, cell.y
    if noise is None:
        return np.where(counts == y, 0.0, -np.inf)
    step = None if noise.step is None else float(noise.step)
    centres = counts if step is None else step * np.floor(counts / step + 0.5)
    known = None if cell.processed is None else cell.processed.lies(y)
    if known is None:
        v = (y - centres) / float(noise.scale)
        return np.asarray(-np.abs(v) if noise.exponential else -0.5 * v * v)
    low, high = known
    closed = cell.processed is not None and cell.processed.lies(high) == known
    low, high = ends_on(step, low, high, closed=closed)
    return log_between(noise, low - centres, high - centres)
