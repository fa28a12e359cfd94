"""`denoise`: the posterior of the exact counts behind noisy ones."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from confide.channel import Channel
from confide.denoising.masses import CountMasses, Floats
from confide.denoising.result import TrueCounts
from confide.denoising.tree import Node, joined, leaves, spread_down, told
from confide.errors import IncompatibleError, InvalidArgument
from confide.published import Release
from confide.statistic.cells import CellCut
from confide.statistic.histogram import cells_of

#: noise further out than this has a mass below e^−45 of its largest
_LAPLACE, _GAUSSIAN = 45.0, 9.5
#: counts of one cell that are looked at, at most
_MOST_COUNTS = 10_000_000


def denoise(
    releases: Any, *, totals: Any = None, nonnegative: bool = False, prior: Any = None, key: int = 0
) -> TrueCounts:
    """What the true counts were: exact probabilities of every cell, given all that was published about them.

    `releases` is a release of a `Histogram` or a `Count`, ours or a number that somebody else published with a known
    scale. Cells of a histogram with a public n add up to n, and that is used. `totals` are more: a whole number that
    all cells add up to; a release of the `Count`; releases of histograms by fewer of the same columns. These must be
    nested, so that they make a tree: totals that cross (by sex, and by ward) are refused.

    Before, every whole number is taken for as probable as every other, negative ones included: then an interval of
    probability p holds the true count with probability p, whatever that is. `nonnegative` leaves the negative ones out,
    and `prior` is a numpyro distribution of each cell's count: where counts are 0, the first makes means too high.

    >>> import confide as cf
    >>> sexes = cf.Histogram("sex", categories=["f", "m"])
    >>> published = cf.Release(cf.Channel(sexes, cf.Laplace(scale=2.0, step=1), n=100), [57.0, 40.0, 1.0])
    >>> known = denoise(published)
    >>> print(known.mean.round(3), known.mean.sum().round(6))
    [57.667 40.667  1.667] 100.0
    """
    release = _one(releases)
    cuts = _cuts(release.channel)
    published, exact = _split(totals)
    tables = [each for each in (release, *published) if each.channel.statistic.tallies]
    exact += [each.channel.n for each in tables if each.channel.n is not None]
    if len(set(exact)) > 1:
        raise InvalidArgument(
            "totals", totals, f"says that all cells add up to {exact[0]:,}, but {exact[-1]:,} is known", "leave it out"
        )
    levels = _levels(cuts, published)
    before, log_prior = _prior(prior, nonnegative=nonnegative)
    y = np.atleast_1d(np.asarray(release.observed, dtype=float))
    nodes = [
        Node(_leaf(release, float(value), log_prior, nonnegative=nonnegative), leaf=place)
        for place, value in enumerate(y)
    ]
    root = _tree(nodes, cuts, levels)
    if exact:
        if len(nodes) == 1:
            raise IncompatibleError("one count with a known total is that total; there is nothing to denoise")
        root = told(root, (root.below.counts == exact[0]).astype(float))
    spread_down(root)
    found = leaves(root)
    cells = cells_of(release.channel.statistic).cells if cuts else ("count",)
    masses = tuple(found[place] for place in range(len(nodes)))
    edges = cuts[0].edges if len(cuts) == 1 else ()
    return TrueCounts(cells, masses, before, _words(exact, levels), root, key, edges)


def _one(releases: Any) -> Release:
    if isinstance(releases, Sequence) and len(releases) == 1:
        releases = releases[0]
    if not isinstance(releases, Release):
        remedy = "give one Release(channel, counts); releases about sums of its cells are totals="
        raise InvalidArgument("releases", releases, "is not a release", remedy)
    return releases


def _cuts(channel: Channel) -> tuple[CellCut, ...]:
    """The columns that make the cells; none for a count of all records."""
    if channel.law.added is None:
        raise IncompatibleError(f"{channel!r} does not add noise to counts; denoise releases with Laplace or Gaussian")
    if channel.statistic.tallies:
        return cells_of(channel.statistic).cuts
    if channel.statistic.counts:
        return ()
    raise IncompatibleError(f"{channel.statistic!r} is no count; denoise serves a Histogram and a Count")


def _split(totals: Any) -> tuple[list[Release], list[int]]:
    """Releases, and whole numbers, that tell totals."""
    given = [] if totals is None else list(totals) if isinstance(totals, Sequence) else [totals]
    published, exact = [], []
    for each in given:
        if isinstance(each, Release):
            published.append(each)
            continue
        try:
            exact.append(operator.index(each))
        except TypeError:
            remedy = "give a whole number, a release of a Count, or of a histogram by fewer columns"
            raise InvalidArgument("totals", each, "is no total", remedy) from None
    return published, exact


def _levels(cuts: tuple[CellCut, ...], published: list[Release]) -> list[tuple[tuple[int, ...], Release]]:
    """The columns of each total, as places among those of the cells, the fewest first; each in the next."""
    found = []
    for release in published:
        own = _cuts(release.channel)
        if unknown := [cut for cut in own if cut not in cuts]:
            problem = f"sorts the column {unknown[0].column!r} into other cells than the release does"
            raise InvalidArgument("totals", release.channel.statistic, problem, "use columns and cells of the release")
        found.append((tuple(sorted(cuts.index(cut) for cut in own)), release))
    found.sort(key=lambda each: len(each[0]))
    for (fewer, one), (more, two) in zip(found[:-1], found[1:], strict=True):
        if not set(fewer) <= set(more):
            raise IncompatibleError(
                f"totals by {' and '.join(one.channel.statistic.columns)} and by "
                f"{' and '.join(two.channel.statistic.columns)} cross: a cell is in one of each, so that they make no "
                "tree; denoise with one of them"
            )
    return found


def _words(exact: list[int], levels: Any) -> str:
    parts = [f"they add up to {exact[0]:,}"] if exact else []
    parts += [
        f"with totals by {' and '.join(each.channel.statistic.columns) or 'all'}" for columns, each in levels if columns
    ]
    parts += ["with a noisy total" for columns, _ in levels if not columns]
    return ", ".join(parts) or "no totals"


def _prior(prior: Any, *, nonnegative: bool) -> tuple[str, Any]:
    if prior is None:
        return "before: flat on the whole numbers" + (" from 0" if nonnegative else ""), None
    if not hasattr(prior, "log_prob"):
        remedy = "give a numpyro distribution of a count, such as dist.Poisson(20.0), or leave it out"
        raise InvalidArgument("prior", prior, "is not a distribution", remedy)

    def log_prior(counts: Floats) -> Floats:
        with jax.enable_x64(True):
            inside = np.asarray(prior.support(jnp.asarray(counts)))
            safe = jnp.where(inside, counts, float(counts[inside][0]) if inside.any() else 0.0)
            return np.where(inside, np.asarray(prior.log_prob(safe.astype(jnp.int64))), -np.inf)

    return f"before: {type(prior).__name__} for each count", log_prior


def _leaf(release: Release, y: float, log_prior: Any, *, nonnegative: bool) -> CountMasses:
    noise = release.channel.law.added
    assert noise is not None
    reach = float(noise.scale) * (_LAPLACE if noise.exponential else _GAUSSIAN) + float(noise.step or 1.0) + 2
    low, high = _between(release, y)
    first, last = low - reach, high + reach
    if not (np.isfinite(first) and np.isfinite(last)) and not nonnegative and log_prior is None:
        raise IncompatibleError(
            f"{y:g} was published {release.processed}, which leaves room for any count on one side; say what is "
            "believed beforehand, by nonnegative=True or a prior"
        )
    if nonnegative or not np.isfinite(first):
        first, last = max(first, 0.0), max(last, reach)
    if not np.isfinite(last):
        last = _end_of(log_prior, max(first, 0.0) + reach)
    counts = np.arange(np.floor(first), np.ceil(last) + 1)
    log_p = _log_noise(release, y, counts)
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


def _between(release: Release, y: float) -> tuple[float, float]:
    """Where the noisy count lay: at y, or between two numbers."""
    found = None if release.processed is None else release.processed.lies(y)
    return (y, y) if found is None else found


def _log_noise(release: Release, y: float, counts: Floats) -> Floats:
    """log g(y | c) of counts, up to a constant, or of what is known of y: in NumPy, as windows have many lengths."""
    noise = release.channel.law.added
    assert noise is not None
    step = None if noise.step is None else float(noise.step)
    centres = counts if step is None else step * np.floor(counts / step + 0.5)
    known = None if release.processed is None else release.processed.lies(y)
    if known is None:
        v = (y - centres) / float(noise.scale)
        return np.asarray(-np.abs(v) if noise.exponential else -0.5 * v * v)
    low, high = known
    closed = release.processed.lies(high) == known  # type: ignore[union-attr]
    # the last and the first point of a lattice that lie there
    if step is not None:
        high = step * (np.floor(high / step + 1e-9) if closed else np.ceil(high / step - 1e-9) - 1)
        low = step * np.ceil(low / step - 1e-9) - step
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(_mass(noise, low - centres, high - centres)))


def _mass(noise: Any, below: Floats, upto: Floats) -> Floats:
    """P(below < V ≤ upto) of symmetric noise, by the tails on the side where they are small."""
    with jax.enable_x64(True):

        def cdf(v: Floats) -> Floats:
            inside = np.isfinite(v)
            found = np.asarray(noise.cdf(jnp.asarray(np.where(inside, v, 0.0))))
            return np.where(inside, found, v > 0)

        step = 0.0 if noise.step is None else float(noise.step)
        # P(V > v) = P(V ≤ −v − step)
        from_below, from_above = cdf(upto) - cdf(below), cdf(-below - step) - cdf(-upto - step)
    return np.maximum(np.where(upto + below < 0, from_below, from_above), 0.0)


def _tree(nodes: list[Node], cuts: tuple[CellCut, ...], levels: Any) -> Node:
    """Cells joined by the columns of the totals, the most first."""
    place = np.array(np.unravel_index(np.arange(len(nodes)), [cut.size for cut in cuts] or [1])).T
    for columns, release in reversed(levels):
        keys = [tuple(row[list(columns)]) for row in place]
        values, joint, kept = np.atleast_1d(np.asarray(release.observed, dtype=float)), [], []
        order = [cuts.index(cut) for cut in _cuts(release.channel)]
        sizes = [cuts[column].size for column in order] or [1]
        for key in dict.fromkeys(keys):
            members = [at for at, own in enumerate(keys) if own == key]
            node = joined([nodes[at] for at in members])
            by_column = dict(zip(columns, key, strict=True))
            at = int(np.ravel_multi_index([by_column[column] for column in order] or [0], sizes))
            log_g = _log_noise(release, float(values[at]), node.below.counts)
            joint.append(told(node, np.exp(log_g - log_g.max())))
            kept.append(place[members[0]])
        nodes, place = joint, np.array(kept)
    return joined(nodes)
