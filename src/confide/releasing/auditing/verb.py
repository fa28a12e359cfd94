"""`audit`: neighbours through the whole pipeline, from a file on disk to the numbers that noise is added to."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from confide._progress import progress
from confide.channel import Channel
from confide.errors import InvalidArgument
from confide.published.extras import needs
from confide.releasing.auditing.examine import examine, plans_of, size_of
from confide.releasing.auditing.result import Audit, Failure
from confide.releasing.auditing.shapes import Shape, every_shape, shape_of
from confide.releasing.auditing.tables import Workshop
from confide.releasing.persons import for_persons
from confide.releasing.readers.table.asked import check_column
from confide.statistic import Statistic
from confide.statistic.columns import ColumnBounds


def audit(
    channel: Channel,
    *,
    like: Any = None,
    column: str | Mapping[str, str] | None = None,
    table: str | None = None,
    person: str | None = None,
    at_most: int | None = None,
    pairs: int = 1000,
    seed: int = 0,
) -> Audit:
    """Try to tell neighbouring tables apart by what leaves the engine, on generated records of a source's shape.

    Tables that differ in one record go through everything that a release does before noise is added, and all pairs of
    them are compared: whole numbers may move by what the noise was calibrated to and no further, a refusal or a warning
    may not depend on a record, and a record outside of a part may change nothing. The cells that differ lie around
    every switch of the expression, the bounds, the edges of a histogram, zero and the grid, or hold what is no number,
    or a text that is on no list. Where n is private a record is also left out, and with `person` and `at_most`, as in
    `release`, all rows of a person are: fewer or more of them than are used, and the same ones in another order.

    `like` names the source whose shape to imitate: a path (its header or schema is read), the URL of a database with
    its `table` (the type of the `column`; in PostgreSQL temporary tables are made, which end with the connection), or
    a table in memory (its types; of several columns of numbers the first one's is tried for all). No record of it is
    read. Without it every reader is tried. A channel with many records, or with many rows of a person, is tried with
    fewer. Equal seeds try the same.

    An audit that finds nothing is evidence, not a proof.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100)
    >>> found = audit(channel, like=[1.5, 2.5], pairs=20)
    >>> found.tried
    {'list (objects)': 30}
    """
    if not isinstance(channel, Channel):
        raise InvalidArgument("channel", channel, "is not a channel", "use Channel(statistic, mechanism, n)")
    channel = for_persons(channel, person, at_most, None, None)
    column = check_column(channel.statistic, column)
    if isinstance(pairs, bool) or not isinstance(pairs, int) or pairs < 1:
        raise InvalidArgument("pairs", pairs, "is not a number of pairs", "give a whole number, such as pairs=1000")
    with needs("release"):
        shapes = every_shape() if like is None else [_shape(channel.statistic, like, column, table)]
        server = _server(like) if shapes[0].reader == "postgres" else None
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _audit(channel, shapes, pairs, seed, Workshop(Path(folder), server))
    finally:
        if server is not None:
            server.disconnect()


def _audit(channel: Channel, shapes: list[Shape], pairs: int, seed: int, workshop: Workshop) -> Audit:
    plans = plans_of(channel)
    tried, refused, tables = Counter[str](), Counter[str](), 0
    found: dict[tuple[str, str], Failure] = {}
    steps = examine(plans, shapes, pairs, np.random.default_rng(seed), workshop)
    for step in progress(steps, "neighbours", total=math.ceil(pairs / math.comb(size_of(pairs), 2))):
        tables += len(step.outcomes)
        tried[str(step.family.shape)] += step.pairs
        refused[str(step.family.shape)] += step.refused
        for failure in step.failures:
            # one fault shows in thousands of pairs: of each kind the one with the fewest records is kept
            simplest = found.setdefault((failure.reader, failure.kind), failure)
            if len(failure.family.records) < len(simplest.family.records):
                found[failure.reader, failure.kind] = failure
    sizes = tuple(plan.channel.n for plan in plans)
    return Audit(channel, dict(tried), dict(+refused), tables, sizes, seed, tuple(found.values()))


def _shape(statistic: Statistic, like: Any, column: str | Mapping[str, str] | None, table: str | None) -> Shape:
    """The shape of a source: of its column, or of the first column of numbers, as the others are tried too."""
    if statistic.columns == ("x",):
        assert not isinstance(column, Mapping)
        return shape_of(like, column, table)
    lists = statistic.bounds.lists if isinstance(statistic.bounds, ColumnBounds) else {}
    name = next((name for name in statistic.columns if name not in lists), statistic.columns[0])
    return shape_of(like, (column or {}).get(name, name) if not isinstance(column, str) else column, table)


def _server(like: Any) -> Any:
    """A connection to the database that is imitated."""
    from confide.releasing.readers.source import _connect

    return _connect(str(like))
