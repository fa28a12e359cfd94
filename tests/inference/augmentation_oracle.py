"""A regression from privatised moments by data augmentation, in plain NumPy (Ju, Awan, Gong and Rao 2022).

Their published summary: y = β·(1, x₁, x₂) + N(0, 2), x ~ N((.9001, −1.1733), I), β ~ N(0, 4I), all columns clamped to
±10 and divided by 10, n = 100, Laplace noise of scale 1.3 on each unique entry of (XᵀY, YᵀY, XᵀX).

The chain is exact: each sweep proposes every row anew from the model at the current β, and accepts it by the ratio of
the noise's densities; then β is drawn given all rows, unclamped, in closed form. Chains stand side by side.
"""

from __future__ import annotations

import numpy as np

N, SCALE, CLAMP = 100, 1.3, 10.0
MEAN, VARIANCE, PRIOR_VARIANCE = np.array([0.9001, -1.1733]), 2.0, 4.0
XTY = [-38.24397505, -6.67830047, 3.19974339]
YTY = 27.19852449
XTX = [9.88347615, -13.85033063, 2.18818009, -2.28842284, 3.40915315]
PUBLISHED = np.array([*XTY, YTY, *XTX])
#: about the middle and the spread of the posterior, to make functions of β bounded
CENTRE, SPREAD = np.array([-1.3, -3.1, -0.3]), np.array([1.5, 0.6, 1.2])


def summary(x, y):
    """XᵀY, YᵀY and XᵀX of single rows, x (2, …) and y (…): shape (9, …)."""
    a, b = np.clip(x, -CLAMP, CLAMP) / CLAMP
    c = np.clip(y, -CLAMP, CLAMP) / CLAMP
    return np.stack([c, a * c, b * c, c * c, a, b, a * a, a * b, b * b])


def sweep(generator, beta, x, y, each):
    """All rows in turn, in place: x (N, 2, C), y (N, C), their own summaries (N, 9, C), at β (3, C)."""
    chains, total = beta.shape[1], each.sum(axis=0)
    distance = np.abs(PUBLISHED[:, None] - total).sum(axis=0)
    proposed = MEAN[:, None] + generator.standard_normal((N, 2, chains))
    outcome = beta[0] + np.einsum("ncj,cj->nj", proposed, beta[1:])
    outcome += np.sqrt(VARIANCE) * generator.standard_normal((N, chains))
    own = np.moveaxis(summary(np.moveaxis(proposed, 1, 0), outcome), 0, 1)
    bars = SCALE * generator.standard_exponential((N, chains))
    for i in range(N):
        moved = total + own[i] - each[i]
        other = np.abs(PUBLISHED[:, None] - moved).sum(axis=0)
        taken = other - distance < bars[i]
        x[i, :, taken], y[i, taken], each[i, :, taken] = proposed[i, :, taken], outcome[i, taken], own[i, :, taken]
        total[:, taken], distance[taken] = moved[:, taken], other[taken]


def coefficients(generator, x, y):
    """β given all rows: the conjugate normal law."""
    design = np.concatenate([np.ones_like(x[:, :1]), x], axis=1)
    precision = np.einsum("nai,nbi->iab", design, design) / VARIANCE + np.eye(3) / PRIOR_VARIANCE
    root = np.linalg.cholesky(precision)
    right = np.einsum("nai,ni->ia", design, y)[..., None] / VARIANCE
    noise = generator.standard_normal(right.shape)
    mean = np.linalg.solve(precision, right)
    return (mean + np.linalg.solve(np.swapaxes(root, 1, 2), noise))[..., 0].T


def chains(seed, count, warmup, sweeps):
    """Draws of β (sweeps, 3, count)."""
    generator = np.random.default_rng(seed)
    beta = 2.0 * generator.standard_normal((3, count))
    x = MEAN[:, None] + generator.standard_normal((N, 2, count))
    y = beta[0] + np.einsum("ncj,cj->nj", x, beta[1:]) + np.sqrt(VARIANCE) * generator.standard_normal((N, count))
    each = np.moveaxis(summary(np.moveaxis(x, 1, 0), y), 0, 1)
    draws = []
    for step in range(warmup + sweeps):
        sweep(generator, beta, x, y, each)
        beta = coefficients(generator, x, y)
        if step >= warmup:
            draws.append(beta)
    return np.stack(draws)


def bounded(beta):
    """Functions of β (…, 3) whose averages are compared: bounded, as the posterior of β₁ has a long tail (six of them)."""
    z = np.tanh((beta - CENTRE) / SPREAD)
    return np.concatenate([z, z**2], axis=-1)
