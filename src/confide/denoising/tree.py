"""Counts that add up: exact masses of every node of a tree, by one pass up and one pass down.

A node's masses from below are those of the sum of its parts times what was published about itself; from above it gets
what is known of it by its parent's other parts. Parts are added two by two, so that the longest sums are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide.denoising.masses import CountMasses, Floats
from confide.errors import IncompatibleError


@dataclass
class Node:
    """A count: a leaf with its index, or the sum of two others, with what its own published number says of it."""

    below: CountMasses
    parts: tuple[Node, Node] | None = None
    leaf: int | None = None
    #: masses given all that was published
    known: CountMasses | None = None


def joined(nodes: Sequence[Node]) -> Node:
    """The sum of some nodes, two halves at a time."""
    if len(nodes) == 1:
        return nodes[0]
    halves = joined(nodes[: len(nodes) // 2]), joined(nodes[len(nodes) // 2 :])
    return Node(halves[0].below.plus(halves[1].below), halves)


def told(node: Node, factor: Floats) -> Node:
    """The same node with what its own published number says: a factor for each of its counts."""
    if not np.any(node.below.p * factor > 0):
        raise IncompatibleError("no counts of the cells add up to such totals; check that they are about the same data")
    return Node(node.below.times(factor), node.parts, node.leaf)


def spread_down(root: Node) -> None:
    """The masses of every node given all that was published."""
    waiting = [(root, root.below)]
    while waiting:
        node, known = waiting.pop()
        node.known = known
        if node.parts is None:
            continue
        one, two = node.parts
        # what the whole is worth for each of its counts, beside its parts' own masses
        parts = one.below.plus(two.below)
        share = parts.at(known.counts)
        worth = CountMasses(known.first, np.divide(known.p, share, out=np.zeros_like(share), where=share > 0)).scaled()
        for part, other in ((one, two), (two, one)):
            outside = worth.before(other.below)
            masses = part.below.p * outside.at(part.below.counts)
            waiting.append((part, CountMasses(part.below.first, masses).scaled()))


def leaves(root: Node) -> dict[int, CountMasses]:
    """The masses of the leaves by their indices."""
    found, waiting = {}, [root]
    while waiting:
        node = waiting.pop()
        if node.leaf is not None:
            assert node.known is not None
            found[node.leaf] = node.known
        waiting += node.parts or ()
    return found


def draw(root: Node, generator: np.random.Generator, size: int, cells: int) -> Floats:
    """Independent draws of all leaves, (size, cells): the whole first, then how it splits."""
    assert root.known is not None
    found = np.empty((size, cells))
    waiting = [(root, _drawn(root.known, generator, size))]
    while waiting:
        node, totals = waiting.pop()
        if node.leaf is not None:
            found[:, node.leaf] = totals
        if node.parts is None:
            continue
        one, two = node.parts
        first = np.empty(size)
        for total in np.unique(totals):
            same = totals == total
            split = CountMasses(one.below.first, one.below.p * two.below.at(total - one.below.counts))
            first[same] = _drawn(split, generator, int(same.sum()))
        waiting += [(one, first), (two, totals - first)]
    return found


def _drawn(masses: CountMasses, generator: np.random.Generator, size: int) -> Floats:
    return generator.choice(masses.counts, size=size, p=masses.p / masses.p.sum())
