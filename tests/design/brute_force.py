"""The best plain channel by trying a thousand of them, with NumPy and SciPy alone: nothing here is shared with `src`.

A record's law is known by its quantiles at the middles of many equal parts of probability and at many more towards the
ends, for θ and for two θ beside it. Candidates are ranked by the leading term of the information of a noisy mean, and
the best of them are computed: for few records the law of the sum on a fine lattice by the fast Fourier transform,
convolved with the noise; for many the normal law convolved with it.
"""

import numpy as np
from scipy import fft, stats

#: records beyond which a mean of bounded values is taken for normal
MANY = 400
_LATTICE = 200

TRANSFORMS = {
    "x": lambda x: x,
    "abs(x)": np.abs,
    "x**2": lambda x: x**2,
    "sqrt(abs(x))": lambda x: np.sqrt(np.abs(x)),
    "abs(x)**1.5": lambda x: np.abs(x) ** 1.5,
    "abs(x)**3": lambda x: np.abs(x) ** 3,
}
POSITIVE = {"log(x)": np.log, "1/x": lambda x: 1 / x, "x**-0.5": lambda x: x**-0.5}
LEVELS = np.asarray([1e-4, 0.002, 0.01, 0.03, 0.07, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.93, 0.97, 0.99])


def probabilities():
    """Edges of cells of probability, finer and finer towards 0 and 1."""
    tail = np.geomspace(1e-10, 1e-2, 400)
    return np.concatenate([[0.0], tail, np.linspace(1e-2, 1 - 1e-2, 6001)[1:-1], 1 - tail[::-1], [1.0]])


class Records:
    """The law of a record at θ as cells with a point each, x, and their masses at θ − δ, θ and θ + δ."""

    def __init__(self, law, theta, step=1e-4):
        """`law` is a function of θ that returns a frozen distribution of SciPy, or something like it."""
        spread = float(np.diff(law(theta).ppf(np.asarray([0.25, 0.75])))[0])
        self.step = step * (min(abs(theta), spread) or spread)
        edges = probabilities()
        ends = law(theta).ppf(edges)
        self.x = law(theta).ppf(0.5 * (edges[1:] + edges[:-1]))
        below = np.stack([law(t).cdf(ends) for t in (theta - self.step, theta, theta + self.step)])
        # what a moving support pushes out belongs to its last cell
        below[:, 0], below[:, -1] = 0.0, 1.0
        self.masses = np.diff(below, axis=1)
        self.mass = self.masses[1]
        self.slope = (self.masses[2] - self.masses[0]) / (2 * self.step)
        self.quantile = law(theta).ppf


def noise_scale(guarantee, n):
    """Kind and scale of the best additive noise on a mean with values in [0, 1]: ("pure" | "zcdp" | "gdp", level)."""
    kind, level = guarantee
    if kind == "pure":
        return "laplace", 1.0 / (n * level)
    return "gaussian", (1.0 / np.sqrt(2 * level) if kind == "zcdp" else 1.0 / level) / n


def leading_term(records, s, n, kind, scale):
    """μ'²/(variance/n + variance of the noise), for rows of s in [0, 1]."""
    mean, square, slope = s @ records.mass, s**2 @ records.mass, s @ records.slope
    noise = (2.0 if kind == "laplace" else 1.0) * scale**2
    return slope**2 / ((square - mean**2) / n + noise)


def information(records, s, n, kind, scale):
    """F of the mean of s in [0, 1] with noise: by the law of the sum on a lattice, or by the normal law of it."""
    return _normal(records, s, n, kind, scale) if n > MANY else _lattice(records, s, n, kind, scale)


def _noise(kind, u, scale):
    return stats.laplace.pdf(u, scale=scale) if kind == "laplace" else stats.norm.pdf(u, scale=scale)


def _lattice(records, s, n, kind, scale):
    place = s * _LATTICE
    floor = np.minimum(place.astype(int), _LATTICE - 1)
    upper = place - floor
    reach = int(np.ceil((45 if kind == "laplace" else 9) * scale * n * _LATTICE))
    size = fft.next_fast_len(n * _LATTICE + 1 + 2 * reach)
    y = np.arange(-reach, size - reach) / (n * _LATTICE)
    offset = np.arange(size)
    noise = _noise(kind, np.minimum(offset, size - offset) / (n * _LATTICE), scale)
    found = []
    for mass in records.masses:
        # each value is shared out between its two neighbours on the lattice, so that means are right
        law = np.bincount(floor, mass * (1 - upper), _LATTICE + 1) + np.bincount(floor + 1, mass * upper, _LATTICE + 1)
        transform = fft.rfft(np.pad(law, (0, size - law.size)))
        density = fft.irfft(transform**n * fft.rfft(noise), size)
        found.append(np.roll(density, reach))
    below, at, above = found
    usable = at > 1e-12 * at.max()
    score = np.where(usable, (above - below) / (2 * records.step) / np.where(usable, at, 1.0), 0.0)
    return float(np.sum(at * score**2) * (y[1] - y[0]))


def _normal(records, s, n, kind, scale):
    y_values, densities = None, []
    for mass in records.masses:
        mean, square = s @ mass, s**2 @ mass
        sd = np.sqrt((square - mean**2) / n)
        if y_values is None:
            centre, wide = s @ records.mass, 9 * sd + (40 if kind == "laplace" else 9) * scale
            y_values = centre + np.linspace(-wide, wide, 6001)
        if kind == "gaussian":
            densities.append(stats.norm.pdf(y_values, mean, np.hypot(sd, scale)))
        else:
            densities.append(_normal_laplace(y_values - mean, sd, scale))
    below, at, above = densities
    usable = at > 1e-12 * at.max()
    score = np.where(usable, (above - below) / (2 * records.step) / np.where(usable, at, 1.0), 0.0)
    return float(np.sum(at * score**2) * (y_values[1] - y_values[0]))


def _normal_laplace(u, sd, b):
    base = sd**2 / (2 * b**2) - np.log(2 * b)
    right = base - u / b + stats.norm.logcdf(u / sd - sd / b)
    left = base + u / b + stats.norm.logcdf(-u / sd - sd / b)
    return np.exp(right) + np.exp(left)


def candidates(records):
    """Powers, logarithms and reciprocals of x clipped at pairs of quantiles, and thresholds: names and s in [0, 1]."""
    x = records.x
    positive = x[0] >= 0
    ends = records.quantile(LEVELS)
    chosen = TRANSFORMS | (POSITIVE if positive and x[0] > 0 else {})
    names, rows = [], []
    for i, low in enumerate(ends):
        for high in ends[i + 1 :]:
            clipped = np.clip(x, low, high)
            for text, transform in chosen.items():
                values = transform(clipped)
                width = np.ptp(values)
                if width > 1e-9 * np.abs(values).max():
                    names.append(f"{text} on ({low:.4g}, {high:.4g})")
                    rows.append((values - values.min()) / width)
    for name, size in {"x": x, "abs(x)": np.abs(x)}.items():
        for level in np.linspace(0.03, 0.97, 48):
            t = np.quantile(size, level, weights=records.mass, method="inverted_cdf")
            names.append(f"{name} > {t:.4g}")
            rows.append((size > t).astype(float))
    return names, np.stack(rows)


def best(law, theta, guarantee, n, leaders=4):
    """The name and the information of the best of them all."""
    records = Records(law, theta)
    names, s = candidates(records)
    kind, scale = noise_scale(guarantee, n)
    terms = leading_term(records, s, n, kind, scale)
    order = np.argsort(-terms)[:leaders]
    exact = [information(records, s[i], n, kind, scale) for i in order]
    at = int(np.argmax(exact))
    return names[order[at]], exact[at]
