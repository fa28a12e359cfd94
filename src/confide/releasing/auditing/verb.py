"""`audit`: neighbours through the whole pipeline, from a file on disk to the numbers that noise is added to."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from confide._progress import progress
from confide.channel import Channel
from confide.errors import ConfideError, InvalidArgument
from confide.published.extras import needs
from confide.releasing.auditing.compare import failures_of
from confide.releasing.auditing.families import Family, draw_family, draw_long
from confide.releasing.auditing.outcomes import outcome_of
from confide.releasing.auditing.result import Audit, Failure
from confide.releasing.auditing.shapes import STRANGE, TEXT_FILES, Shape, every_shape, shape_of
from confide.releasing.auditing.tables import Workshop
from confide.releasing.plan import Plan, plan_of

#: numbers of records that are tried; where the channel has more, what it does to each of them is the same
_SIZES = (1, 2, 3, 12)
#: tables of a family, at least and at most
_FEWEST, _MOST = 6, 40
#: turns of a shape whose cells may hold anything, for each turn of another
_TURNS = 3


def audit(
    channel: Channel,
    *,
    like: Any = None,
    column: str | None = None,
    table: str | None = None,
    pairs: int = 1000,
    seed: int = 0,
) -> Audit:
    """Try to tell neighbouring tables apart by what leaves the engine, on generated records of a source's shape.

    Tables that differ in one record go through everything that a release does before noise is added, and all pairs of
    them are compared: whole numbers may move by what the noise was calibrated to and no further, a refusal or a warning
    may not depend on a record, and a record outside of a part may change nothing. The cells that differ lie around
    every switch of the expression, the bounds, zero and the grid, or hold what is no number.

    `like` names the source whose shape to imitate: a path (its header or schema is read), the URL of a database with its
    `table` (the type of the `column`; in PostgreSQL temporary tables are made, which end with the connection), or a
    table in memory (its types). No record of it is read. Without it every reader is tried. A channel with many
    records is tried with fewer. Equal seeds try the same.

    An audit that finds nothing is evidence, not a proof.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100)
    >>> found = audit(channel, like=[1.5, 2.5], pairs=20)
    >>> found.tried
    {'list (objects)': 21}
    """
    if not isinstance(channel, Channel):
        raise InvalidArgument("channel", channel, "is not a channel", "use Channel(statistic, mechanism, n)")
    if isinstance(pairs, bool) or not isinstance(pairs, int) or pairs < 1:
        raise InvalidArgument("pairs", pairs, "is not a number of pairs", "give a whole number, such as pairs=1000")
    with needs("release"):
        plans = _plans(channel)
        shapes = every_shape() if like is None else [shape_of(like, column, table)]
        server = _server(like) if shapes[0].reader == "postgres" else None
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _audit(channel, plans, shapes, pairs, seed, Workshop(Path(folder), server))
    finally:
        if server is not None and server is not like:
            server.disconnect()


def _audit(channel: Channel, plans: list[Plan], shapes: list[Shape], pairs: int, seed: int, workshop: Workshop) -> Audit:
    turns = [(shape, turn) for shape in shapes for turn in range(_TURNS if shape.kind in STRANGE else 1)]
    size = min(max(math.isqrt(2 * pairs // len(turns)) + 1, _FEWEST), _MOST)
    tried, refused, tables = Counter[str](), Counter[str](), 0
    found: list[Failure] = []
    families = _families(plans, turns, size, pairs, np.random.default_rng(seed))
    for family in progress(families, "neighbours", total=math.ceil(pairs / math.comb(size, 2))):
        made = workshop.make(family.shape, [family.values(cell) for cell in family.cells], family.ids)
        outcomes = [outcome_of(family.plan, one, family.part, family.missing) for one in made]
        tables += len(made)
        tried[str(family.shape)] += math.comb(len(made), 2)
        refused[str(family.shape)] += math.comb(sum(outcome.numbers is None for outcome in outcomes), 2)
        found += failures_of(family, outcomes)
    sizes = tuple(plan.channel.n for plan in plans)
    return Audit(channel, dict(tried), dict(+refused), tables, sizes, seed, tuple(_kept(found)))


def _families(
    plans: list[Plan], turns: list[tuple[Shape, int]], size: int, pairs: int, generator: np.random.Generator
) -> Iterator[Family]:
    """One family after another until there are enough pairs; one turn of a text file is a long one."""
    made = 0
    shuffled = [turns[index] for index in generator.permutation(len(turns))]
    for shape, turn in cycle(shuffled):
        plan = plans[int(generator.integers(len(plans)))]
        long = shape.reader in TEXT_FILES and turn == 1
        family = (draw_long if long else draw_family)(plan, shape, size, generator)
        made += math.comb(len(family.cells), 2)
        yield family
        if made >= pairs:
            return


def _plans(channel: Channel) -> list[Plan]:
    """Plans of the channel for few records, for tables of many take long to write."""
    sizes = sorted({min(n, channel.n) for n in _SIZES})
    found = []
    for n in sizes:
        try:
            found.append(plan_of(Channel(channel.statistic, channel.mechanism, n)))
        except ConfideError:  # what cannot be released from so few records may be from more
            continue
    return found or [plan_of(channel)]


def _server(like: Any) -> Any:
    """A connection to the database that is imitated."""
    from confide.releasing.source import _connect

    return _connect(str(like))


def _kept(found: list[Failure]) -> list[Failure]:
    """One failure of each kind, that with the fewest records: one fault shows in thousands of pairs."""
    kinds: dict[tuple[str, str], Failure] = {}
    for failure in sorted(found, key=lambda failure: len(failure.family.records)):
        words = failure.problem.translate({ord(digit): None for digit in "0123456789.e+-"})
        kinds.setdefault((failure.reader, words), failure)
    return list(kinds.values())
