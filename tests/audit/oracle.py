"""p(y | θ), its information and its posterior for a question, by the computations of this package alone."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from tests.audit import laws, means, ranks, scores
from tests.audit.questions import Question

#: data sets that stand for a window of ranks
SIMULATED = 20_000
#: the share of a posterior's mass by which a cell of θ may be off, and how often cells are halved for that
BENDS, ROUNDS = 1e-4, 12


@dataclass(frozen=True)
class Answer:
    """log p at values of y, how far it may be off (relative error of p), and the values."""

    y: Any
    log_p: Any
    error: Any


def rank_of(question: Question) -> int:
    """The rank of an order statistic: ⌈n/2⌉, n, 1 or ⌈qn⌉."""
    n, name = question.n, type(question.statistic).__name__
    if name == "Quantile":
        return int(np.ceil(round(question.statistic.q * n, 9)))
    return {"Median": (n + 1) // 2, "Maximum": n, "Minimum": 1}[name]


def record(question: Question, theta, cells: int, parts: int = 1, bounds=None):
    """One record's law on the lattice, or that of a rank: exact for discrete records, else in so many cells."""
    law = question.family.scipy(*theta)
    through = None
    if question.kind == "rank":
        through = functools.partial(ranks.rank_masses, n=question.n, rank=rank_of(question))
    if question.family.discrete:
        one = laws.whole(law, question.formula, question.bounds)
        return one if through is None else dataclasses.replace(one, mass=through(one.mass))
    bounds = bounds or narrowed(law, question.bounds)
    low, high = laws.value_range(question.formula, bounds)
    return laws.continuous(law, question.formula, bounds if low < high else question.bounds, cells, parts, through)


def summed(question: Question) -> int:
    """How many laws of a `record` are added up: those of a mean."""
    return question.n if question.kind in ("mean", "lattice") else 1


def narrowed(law, bounds, margin=0.0):
    """The bounds, without what lies so far out that no record is there: cells are for where the law is."""
    ends = law.ppf(1e-18), law.isf(1e-18)
    low, high = float(ends[0]), float(ends[1])
    reach = margin * (high - low) if np.isfinite(high - low) else 0.0
    a, b = max(bounds[0], low - reach), min(bounds[1], high + reach)
    # where nothing is left, or hardly more than a point, the bounds are as good
    return (a, b) if b - a > 1e-6 * (bounds[1] - bounds[0]) else bounds


def _cells(question: Question) -> int:
    """As many as the time allows: the lattice of a sum has n times as many points, or 60 standard deviations."""
    return 2**15 if question.kind in ("rank", "each") else _cells_of_sums(question, 2**14)


def _log_density(question: Question, theta, y, cells):
    # masses in parts of cells keep a cell's mean; on a lattice they would mix with atoms
    one = record(question, theta, cells, 8 if question.kind == "mean" else 1)
    return means.log_density(one, summed(question), question.noise, y)


def values(question: Question) -> np.ndarray:
    """Published values in the middle of their law and in both tails, as far as they can be trusted."""
    n = summed(question)
    u = means.sum_law(record(question, question.theta, 2**9), n)
    total = u.mass.sum()
    centre = float(u.mass @ u.points) / total / n
    spread = np.sqrt(max(float(u.mass @ (u.points / n - centre) ** 2) / total, 0.0))
    noise = question.noise.scale * (2**0.5 if question.noise.kind == "Laplace" else 1)
    y = centre + np.hypot(spread, noise) * np.asarray([-2.5, -1.0, 0.0, 0.7, 2.5])
    step = question.noise.step
    return y if step is None else np.unique(np.round(y / step)) * step


def likelihood(question: Question) -> Answer:
    """log p at five values, from two lattices, and its error from a third."""
    if question.kind == "response":
        return _response(question)
    if question.kind in ("smooth", "exponential"):
        return _simulated(question)
    y, cells = values(question), _cells(question)
    fine = _log_density(question, question.theta, y, 2 * cells)
    if question.family.discrete:
        return Answer(y, fine, np.full(y.shape, 1e-10))
    coarse, coarser = (_log_density(question, question.theta, y, count) for count in (cells, cells // 2))
    # errors of the second order; what is removed is also what remains at most
    best = fine + (fine - coarse) / 3
    # two of three may agree before that order is seen: the step before says what the last should have been
    moved = np.maximum(np.abs(fine - coarse), 0.25 * np.abs(coarse - coarser))
    # two lattices may agree at one value by chance; at its neighbours they do not
    beside = np.maximum(np.append(moved[1:], 0.0), np.append(0.0, moved[:-1]))
    return Answer(y, best, 1e-9 + np.maximum(moved, 0.1 * beside))


def _response(question: Question) -> Answer:
    law, (a, b) = question.law, question.bounds
    one, epsilon = float(question.formula.text == "x > 1"), question.mechanism.privacy.epsilon
    # P(s = 1): beyond the threshold, clipped records counted at their bound
    at_least = question.formula.text == "x >= 0"
    function = question.formula.function
    if function(np.asarray(a)) == function(np.asarray(b)):
        share = float(function(np.asarray(a)))
    elif at_least:
        share = float(law.sf(one) + (law.pmf(0) if question.family.discrete else 0.0))
    else:
        share = float(law.sf(one))
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    p = np.asarray([1 - share, share]) * keep + np.asarray([share, 1 - share]) * (1 - keep)
    return Answer(np.asarray([0.0, 1.0]), np.log(p), np.full(2, 1e-12))


def _simulated(question: Question) -> Answer:
    """Windows of ranks: an average over simulated data sets, with twice its standard error for the library's own."""
    rng = np.random.default_rng(12345)
    law, channel = question.law, question.model.channel
    draws = law.rvs(size=(SIMULATED, question.n), random_state=rng)
    s = question.formula.function(np.clip(draws.astype(float), *question.bounds))
    rank, ends, cap = rank_of(question), question.ends, channel.law.window
    y = np.unique(np.quantile(np.sort(s, axis=1)[:, rank - 1], [0.1, 0.5, 0.9]) + 1e-3 * (ends[1] - ends[0]) / 7)
    y = y[(y > ends[0]) & (y < ends[1])]
    if question.kind == "smooth":
        kind = "Laplace" if "Laplace" in type(question.mechanism).__name__ else "Cauchy"
        p, error = ranks.smooth_density(s, rank, channel.law.beta, channel.law.alpha, cap, ends, kind, y)
    else:
        epsilon = question.mechanism.privacy.epsilon
        rate = epsilon if rank in (1, question.n) else epsilon / 2
        p, error = ranks.exponential_density(s, rank, rate, cap, ends, y)
    seen = p > 20 * error
    # 4.5 standard errors of the difference; the library has 8,192 windows or more
    share = 4.5 * error[seen] / p[seen] * np.sqrt(1 + SIMULATED / 8192)
    return Answer(y[seen], np.log(p[seen]), share)


def information(question: Question):
    """F by numeric scores, for noise with a density, and how far it may be off; None where it is not computed."""
    if question.kind not in ("mean", "each", "rank") or question.family.name == "categorical":
        return None
    cells = _cells_of_sums(question) if question.kind == "mean" else 2**12
    # central differences: far above rounding (1e-16/width), far below where p curves
    coarse = _information(question, cells, 4e-3, 2**16)
    fine = _information(question, 2 * cells, 2e-3, 2**17)
    return fine, np.abs(fine - coarse)


def _cells_of_sums(question: Question, most=2**12) -> int:
    """As many as leave the lattice of the sum a million points, as wide as its law is."""
    one = record(question, question.theta, 2**9)
    if question.family.discrete:
        return most
    mean = float(one.mass @ one.points)
    share = np.sqrt(float(one.mass @ (one.points - mean) ** 2)) / (2**10 * one.step)
    return int(np.clip(2**19 / (60 * share * np.sqrt(summed(question)) + 4), 2**7, most))


def _information(question: Question, cells: int, width: float, points: int) -> np.ndarray:
    n = summed(question)
    parts = 16 if question.family.moving else 1
    # the same cells for every θ that is compared
    bounds = None if question.family.discrete else narrowed(question.law, question.bounds, margin=0.05)

    def law(theta):
        return record(question, theta, cells, parts, bounds)

    grid = means.grid_of(law(question.theta), n, question.noise, points)
    # an extreme of n records whose support moves is as near its end as a share of 1/n, and p curves as fast
    near = min(1.0, 8.0 / _of_extreme(question)) if question.family.moving else 1.0
    widths = [near * width * max(abs(t), 0.25) for t in question.theta]
    matrix = scores.information(
        lambda theta: means.profile(law(theta), n, question.noise, grid), question.theta, widths, grid.step
    )
    return matrix * (question.n if question.kind == "each" else 1)


def _of_extreme(question: Question) -> int:
    """The number of records of which one is the first or the last; 1 where none is."""
    extreme = question.kind == "rank" and rank_of(question) in (1, question.n)
    return question.n if extreme else 1


def posterior(question: Question, y, prior_log_density, windows, reach, points=97):
    """Mean and sd over all θ of `reach` by the trapezoidal rule, the density left at its ends, and the error.

    Windows have so many points. Between them and beyond a third as many serve: Laplace noise leaves tails as flat as the
    prior's, which hold little and reach far. Where the density bends between them, there are more.
    """
    ends = [reach[0], *(end for window in windows for end in window), reach[1]]
    parts = [np.linspace(low, high, points) for low, high in windows]
    parts += [
        np.linspace(low, high, points // 3) for low, high in zip(ends[::2], ends[1::2], strict=True) if low < high
    ]
    cells = max(_cells_of_sums(question, 2**12) // 4, 2**7)

    @np.errstate(divide="ignore")  # p may be nothing
    def log_likelihood(theta, count):
        return np.asarray([float(_log_density(question, (t,), y, count)[0]) for t in theta])

    def log_density(theta):
        return log_likelihood(theta, cells) + prior_log_density(theta)

    theta, fine = refined(log_density, np.unique(np.concatenate(parts)))
    prior = prior_log_density(theta)
    fine, coarse = fine - prior, log_likelihood(theta, cells // 2)
    step = _steps(theta)

    def moments(log_p):
        log_p = log_p + prior
        p = np.exp(log_p - log_p.max())
        left = float(max(p[0], p[-1]) / p.max())
        p *= step / (p @ step)
        mean = float(p @ theta)
        return mean, float(np.sqrt(p @ (theta - mean) ** 2)), left

    with np.errstate(invalid="ignore"):
        off = fine - coarse
    # far from all modes both are rounding, and there is nothing to be made better
    best, plain = moments(fine + np.where(np.abs(off) < 0.5, off, 0.0) / 3), moments(fine)
    return *best, max(abs(best[0] - plain[0]), abs(best[1] - plain[1])) / best[1]


def refined(log_density, theta, tolerance=BENDS):
    """Points with more of them where the trapezoidal rule needs them, and the log density at all of them.

    A cell of width h is off by h/12 times the second difference of the density; where it jumps, by six times as much. What
    that does to the mean and the sd grows with the square of the distance from the mean.
    """
    log_p = log_density(theta)
    for _ in range(ROUNDS):
        step = _steps(theta)
        p = np.exp(log_p - log_p.max())
        p /= p @ step
        mean = p * step @ theta
        away = np.maximum(1.0, (theta - mean) ** 2 / (p * step @ (theta - mean) ** 2))
        left, right = np.diff(theta)[:-1], np.diff(theta)[1:]
        straight = (p[:-2] * right + p[2:] * left) / (left + right)
        bends = 2 * np.abs(p[1:-1] - straight) * np.maximum(left, right) / 12 * away[1:-1] > tolerance
        cut = np.append(bends, False) | np.append(False, bends)
        if not cut.any():
            break
        more = (theta[:-1] + 0.5 * np.diff(theta))[cut]
        theta, log_p = np.append(theta, more), np.append(log_p, log_density(more))
        order = np.argsort(theta)
        theta, log_p = theta[order], log_p[order]
    return theta, log_p


def _steps(theta):
    """The weights of the trapezoidal rule."""
    return 0.5 * np.diff(theta, prepend=theta[0]) + 0.5 * np.diff(theta, append=theta[-1])


def windows(question: Question, y, low, high, reach):
    """[low, high], and where else between the ends of `reach` y is what one expects: more modes of a posterior.

    The mean of x/(1 + x**2), say, rises and falls with a location, so that two locations explain a value.
    """
    theta = np.linspace(*reach, 241)
    noise = question.noise.scale * (2**0.5 if question.noise.kind == "Laplace" else 1)
    centre, spread = np.transpose([_expected(question, t) for t in theta])
    found = [(low, high)]
    for i in np.flatnonzero(np.diff(np.sign(centre - y))):
        slope = (centre[i + 1] - centre[i]) / (theta[i + 1] - theta[i])
        at = theta[i] + (y - centre[i]) / slope
        half = min(9 * np.hypot(spread[i], noise) / abs(slope), 0.1 * (reach[1] - reach[0]))
        found.append((max(at - half, reach[0]), min(at + half, reach[1])))
    merged: list[tuple[float, float]] = []
    for start, stop in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _expected(question: Question, theta):
    """The mean and the sd of the statistic before noise."""
    u, n = record(question, (theta,), 2**9), summed(question)
    mean = float(u.mass @ u.points) / u.mass.sum()
    return mean, np.sqrt(max(float(u.mass @ (u.points - mean) ** 2) / u.mass.sum(), 0.0) / n)


def normal_log_density(question: Question, y):
    """The central limit theorem's p(y): to tell a silent approximation from a wrong number."""
    one = record(question, question.theta, 2**10)
    mean = float(one.mass @ one.points)
    sd = np.sqrt(float(one.mass @ (one.points - mean) ** 2) / question.n)
    if question.noise.kind == "Gaussian":
        return stats.norm.logpdf(y, mean, np.hypot(sd, question.noise.scale))
    u = np.linspace(mean - 9 * sd, mean + 9 * sd, 4001)
    w = stats.norm.pdf(u, mean, sd) * (u[1] - u[0])
    return np.log(np.asarray([w @ question.noise.density(value - u) for value in np.atleast_1d(y)]))
