"""`denoise`: the posterior of the exact counts behind noisy ones."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from confide.denoising.cell import log_noise, masses_of
from confide.denoising.masses import Floats
from confide.denoising.result import TrueCounts
from confide.denoising.table import CountTable, table_of_release
from confide.denoising.tree import Node, joined, leaves, spread_down, told
from confide.errors import IncompatibleError, InvalidArgument
from confide.published import Release


def denoise(
    releases: Any, *, totals: Any = None, nonnegative: bool = False, prior: Any = None, key: int = 0
) -> TrueCounts:
    """What the true counts were: exact probabilities of every cell, given all that was published about them.

    `releases` is a release of a `Histogram` or a `Count`, ours or a number that somebody else published with a known
    scale; or a whole table that somebody else published, by `published_counts`. Cells of a histogram with a public n
    add up to n, and that is used. `totals` are more: a whole number that all cells add up to; a release of the `Count`;
    releases of histograms, or tables, by fewer of the same columns. These must be nested, so that they make a tree:
    totals that cross (by sex, and by ward) are refused.

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
    table = _one(releases)
    published, exact = _split(totals)
    exact += [each.exact for each in (table, *published) if each.exact is not None]
    if len(set(exact)) > 1:
        raise InvalidArgument(
            "totals", totals, f"says that all cells add up to {exact[0]:,}, but {exact[-1]:,} is known", "leave it out"
        )
    levels = _levels(table, published)
    before, log_prior = _prior(prior, nonnegative=nonnegative)
    nodes = [
        Node(masses_of(cell, log_prior, nonnegative=nonnegative), leaf=place) for place, cell in enumerate(table.cells)
    ]
    root = _tree(nodes, table, levels)
    if exact:
        if len(nodes) == 1:
            raise IncompatibleError("one count with a known total is that total; there is nothing to denoise")
        root = told(root, (root.below.counts == exact[0]).astype(float))
    spread_down(root)
    found = leaves(root)
    masses = tuple(found[place] for place in range(len(nodes)))
    edges = table.cuts[0].edges if table.cuts is not None and len(table.cuts) == 1 else ()
    return TrueCounts(table.labels, masses, before, _words(exact, levels), root, key, edges)


def _one(releases: Any) -> CountTable:
    if isinstance(releases, Sequence) and len(releases) == 1:
        releases = releases[0]
    if isinstance(releases, CountTable):
        return releases
    if not isinstance(releases, Release):
        remedy = (
            "give one Release(channel, counts), or published_counts(table, variance=…); what is about sums of its "
            "cells is totals="
        )
        raise InvalidArgument("releases", releases, "is not a release", remedy)
    return table_of_release(releases)


def _split(totals: Any) -> tuple[list[CountTable], list[int]]:
    """Tables, and whole numbers, that tell totals."""
    given = [] if totals is None else list(totals) if isinstance(totals, Sequence) else [totals]
    published, exact = [], []
    for each in given:
        if isinstance(each, Release | CountTable):
            published.append(_one(each))
            continue
        try:
            exact.append(operator.index(each))
        except TypeError:
            remedy = "give a whole number, a release of a Count, or of a histogram by fewer columns"
            raise InvalidArgument("totals", each, "is no total", remedy) from None
    return published, exact


def _levels(table: CountTable, published: list[CountTable]) -> list[CountTable]:
    """The tables of totals, those by the fewest columns first; each one's columns are among those of the next."""
    for total in published:
        cuts = () if table.cuts is None or total.cuts is None else total.cuts
        unknown = [name for name in total.columns if name not in table.columns]
        unknown += [cut.column for cut in cuts if cut not in (table.cuts or ())]
        if not unknown and (lost := sorted(set(total.keys) - set(table.among(total.columns)))):
            problem = f"has a total of {', '.join(lost[0])}, which none of the cells is in"
            raise InvalidArgument("totals", total.labels, problem, "name cells alike in all tables")
        if unknown:
            problem = f"sorts the column {unknown[0]!r} into other cells than the release does"
            raise InvalidArgument("totals", total.labels, problem, "use columns and cells of the release")
    found = sorted(published, key=lambda total: len(total.columns))
    for one, two in zip(found[:-1], found[1:], strict=True):
        if not set(one.columns) <= set(two.columns):
            raise IncompatibleError(
                f"totals by {' and '.join(one.columns)} and by {' and '.join(two.columns)} cross: a cell is in one of "
                "each, so that they make no tree; denoise with one of them"
            )
    return found


def _words(exact: list[int], levels: list[CountTable]) -> str:
    parts = [f"they add up to {exact[0]:,}"] if exact else []
    parts += [f"with totals by {' and '.join(each.columns)}" for each in levels if each.columns]
    parts += ["with a noisy total" for each in levels if not each.columns]
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


def _tree(nodes: list[Node], table: CountTable, levels: list[CountTable]) -> Node:
    """Cells joined by the columns of the totals, the most first; not every group needs a total of its own."""
    members = list(range(len(nodes)))
    for total in reversed(levels):
        known = dict(zip(total.among(total.columns), total.cells, strict=True))
        groups: dict[tuple[str, ...], list[int]] = {}
        keys = table.among(total.columns)
        for place, member in enumerate(members):
            groups.setdefault(keys[member], []).append(place)
        joint = []
        for group, places in groups.items():
            node = joined([nodes[place] for place in places])
            if group in known:
                log_g = log_noise(known[group], node.below.counts)
                top = log_g.max()
                node = told(node, np.exp(log_g - (top if np.isfinite(top) else 0.0)))
            joint.append(node)
        nodes, members = joint, [members[places[0]] for places in groups.values()]
    return joined(nodes)
