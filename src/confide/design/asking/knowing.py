"""The posterior of one or two parameters from a mesh: moments by sums, draws by inverting distribution functions."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.design.asking.mesh import Mesh, along, axes, moments, quantiles, shares, sizes
from confide.errors import AccuracyError
from confide.inference.diagnostics import independent
from confide.inference.quadrature.grid import constrained, uniforms
from confide.inference.summaries import finer
from confide.posterior import Exact, Posterior
from confide.prior import Prior

Floats = NDArray[np.float64]

#: chains of independent draws, and draws of each
_SHAPE = (4, 1000)
#: how far half of the points may move quartiles of a free coordinate, in units of what lies between them
_STILL = 2e-2


def posterior_on(mesh: Mesh, prior: Prior, key: Any) -> Posterior:
    """The posterior whose log density a mesh holds."""
    _check(mesh)
    mean, covariance = (np.asarray(part) for part in moments(prior, mesh))
    sd = np.sqrt(np.diagonal(covariance))
    lines = [np.asarray(line) for line in axes(mesh)]
    random = uniforms(key, (len(lines), *_SHAPE))
    means, sds = ({name: float(part) for name, part in prior.by_name(each).items()} for each in (mean, sd))
    if len(lines) == 1:
        exact, free = _on_line(mesh, prior, means, sds, random[0])
    else:
        exact, free = Exact(means, sds), _draws(mesh, lines, random)
    draws = prior.by_name(constrained(prior, free.reshape(-1, len(lines))).reshape(*_SHAPE, -1))
    return Posterior(draws, "grid", "records", independent(draws, []), prior, exact)


def _on_line(mesh: Mesh, prior: Prior, mean: Any, sd: Any, random: Floats) -> tuple[Exact, Floats]:
    """The density of θ in finer steps, and draws of the free coordinate."""
    low, high, centre, scale, log_density = (np.asarray(part) for part in mesh)
    first, last = np.arcsinh((np.concatenate([low, high]) - centre) / scale)
    u, share = finer(np.linspace(float(first), float(last), log_density.size), log_density[:, None])
    free = centre + scale * np.sinh(u)
    theta = constrained(prior, free[:, None])[:, 0]
    cumulative = np.cumsum(share[:, 0]) - 0.5 * share[:, 0]
    draws = np.interp(random, cumulative, free)
    return Exact(mean, sd, theta, share[:, 0] / np.gradient(theta), cumulative), draws


def _draws(mesh: Mesh, lines: list[Floats], random: Floats) -> Floats:
    """Draws of two free coordinates: the first from its marginal, the second given the first."""
    share = np.asarray(shares(mesh)).reshape(sizes(mesh))
    cumulative = np.cumsum(share.sum(axis=1)) - 0.5 * share.sum(axis=1)
    first = np.interp(random[0].ravel(), cumulative, lines[0])
    after = np.searchsorted(lines[0], first).clip(1, lines[0].size - 1)
    part = ((first - lines[0][after - 1]) / (lines[0][after] - lines[0][after - 1]))[:, None]
    row = (1.0 - part) * share[after - 1] + part * share[after]
    row = row / row.sum(axis=1, keepdims=True)
    below = np.cumsum(row, axis=1) - 0.5 * row
    second = [np.interp(level, each, lines[1]) for level, each in zip(random[1].ravel(), below, strict=True)]
    return np.stack([first, np.asarray(second)], axis=-1)


def _check(mesh: Mesh) -> None:
    """Refuse a mesh of which half the points say something else."""
    levels = jnp.asarray([0.1, 0.25, 0.5, 0.75, 0.9])
    whole = np.asarray(shares(mesh)).reshape(sizes(mesh))
    for axis, line in enumerate(axes(mesh)):
        found = np.asarray(quantiles(line, along(mesh, axis), levels))
        half = whole[tuple(slice(None, None, 2) for _ in whole.shape)]
        share = half.sum(axis=tuple(i for i in range(half.ndim) if i != axis)) / half.sum()
        off = np.abs(np.asarray(quantiles(line[::2], jnp.asarray(share), levels)) - found)
        if np.max(off) > _STILL * (found[3] - found[1]):
            raise AccuracyError(
                f"the posterior is not resolved: half of the points of its mesh move its quantiles by {np.max(off):.2g}"
                "; answers to more questions narrow it"
            )
