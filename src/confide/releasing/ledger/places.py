"""What each place of a scheme has been promised: a profile that is constant between the ends of parts.

Releases from disjoint parts of one scheme have no record in common, so a record pays only for those it is in. The worst
record is in every release from the whole data set and, in each scheme, at the worst place. A release changes only the
pieces that its part covers, and its neighbours are joined where they are equal: nothing else is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from confide.releasing.ledger.budget import NOTHING, Amount, larger, plus

#: places are 0, …, TOP − 1, positions of rows or 32-bit hashes
TOP = 2**63 - 1


@dataclass(frozen=True)
class PartPiece:
    """Places from start to stop − 1, which were all promised the same."""

    start: int
    stop: int
    total: Amount


#: the profile of a scheme that nothing was released from
EMPTY = (PartPiece(0, TOP, NOTHING),)


def covers(pieces: Sequence[PartPiece], start: int, stop: int) -> bool:
    """Whether pieces follow each other without a gap, over [start, stop): a lost piece would be a lost payment."""
    meet = all(first.stop == second.start for first, second in pairwise(pieces))
    sound = all(0 <= piece.start < piece.stop <= TOP for piece in pieces)
    return bool(pieces) and meet and sound and pieces[0].start <= start and stop <= pieces[-1].stop


def raised(pieces: Sequence[PartPiece], start: int, stop: int, cost: Amount) -> tuple[list[PartPiece], Amount]:
    """The pieces after a release from [start, stop), and the most that a place in it has been promised.

    >>> from fractions import Fraction
    >>> half = (Fraction(1, 2), Fraction(0))
    >>> pieces, worst = raised(EMPTY, 0, 10, half)
    >>> [(piece.start, piece.stop, str(piece.total[0])) for piece in pieces][0], str(worst[0])
    ((0, 10, '1/2'), '1/2')
    """
    changed: list[PartPiece] = []
    worst = NOTHING
    for piece in pieces:
        first, last = max(piece.start, start), min(piece.stop, stop)
        if first >= last:
            changed.append(piece)
            continue
        dearer = plus(piece.total, cost)
        worst = larger(worst, dearer)
        changed += [replace(piece, stop=first)] * (piece.start < first)
        changed.append(PartPiece(first, last, dearer))
        changed += [replace(piece, start=last)] * (last < piece.stop)
    return _joined(changed), worst


def _joined(pieces: Sequence[PartPiece]) -> list[PartPiece]:
    joined: list[PartPiece] = []
    for piece in pieces:
        if joined and joined[-1].total == piece.total:
            joined[-1] = replace(joined[-1], stop=piece.stop)
        else:
            joined.append(piece)
    return joined
