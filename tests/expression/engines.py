"""What engines compute: NumPy, DuckDB, and PostgreSQL's guards against underflow in NumPy; and doubles worth trying."""

import functools

import ibis
import numpy as np
import pyarrow as pa

from confide.expression.database import column_of, compiling, read_in_database
from confide.expression.evaluate import ArrayReader, evaluate
from confide.expression.pieces import kink_hints
from confide.expression.tree import Interp, Number, nodes, read
from confide.expression.work import Work

_TINY = 1e-154


@functools.cache
def _duckdb():
    return ibis.duckdb.connect()


class FlushingReader(ArrayReader):
    """NumPy with the guards of `database.PostgresReader`: tiny products, quotients and powers are 0."""

    def __init__(self, variable):
        super().__init__(np, {"x": variable})

    def multiply(self, a, b):
        tiny = (np.abs(a) < _TINY) & (np.abs(b) <= 1) | (np.abs(b) < _TINY) & (np.abs(a) <= 1)
        return np.where(tiny, 0.0, np.multiply(a, b))

    def divide(self, a, b):
        tiny = (np.abs(a) < _TINY) & (np.abs(b) >= 1) | (np.abs(a) < 1) & (np.abs(b) > 1 / _TINY)
        return np.where(tiny, 0.0, np.divide(a, b))

    def exp(self, a):
        return np.exp(np.maximum(a, -700.0))

    def interp(self, a, knots, values):
        """The slope form of databases."""
        xs, vs = np.asarray(knots), np.asarray(values)
        i = np.clip(np.searchsorted(xs, a, "right") - 1, 0, len(xs) - 2)
        slope = (vs[i + 1] - vs[i]) / (xs[i + 1] - xs[i])
        inside = self.multiply(slope, a - xs[i]) + vs[i]
        return np.where(a <= xs[0], vs[0], np.where(a >= xs[-1], vs[-1], inside))


def by_numpy(trees, x):
    return np.stack([np.broadcast_to(evaluate(tree, x), x.shape) for tree in trees])


def by_flushing(trees, x):
    with np.errstate(all="ignore"):
        return np.stack([np.broadcast_to(np.asarray(read(tree, FlushingReader(x)), float), x.shape) for tree in trees])


def by_duckdb(trees, x):
    table = ibis.memtable(pa.table({"i": np.arange(x.size), "x": x}))
    with compiling():
        for index, tree in enumerate(trees):
            table, value = read_in_database(tree, table, {"x": "x"}, "duckdb")
            table = table.mutate(**{f"s{index}": column_of(table, value)})
        frame = _duckdb().to_pandas(table.order_by("i"))
    return np.stack([frame[f"s{index}"].to_numpy(dtype=float) for index in range(len(trees))])


def doubles_worth_trying(trees, low, high, seed=0):
    """Ends, subnormals, every constant and kink with its neighbours, and numbers in between."""
    points = {low, high, 0.5 * (low + high), 0.0, 5e-324, -5e-324, 1e-310, 1e-155, -1e-155, 2e-154}
    for tree in trees:
        for node in nodes(tree):
            if isinstance(node, Number):
                points.add(node.value)
            if isinstance(node, Interp):
                points.update(node.knots)
        points.update(kink_hints(tree, low, high, Work(300)))
    centres = np.asarray(sorted(points))
    near = [centres]
    for side in (-np.inf, np.inf):
        step = centres
        for _ in range(3):
            step = np.nextafter(step, side)
            near.append(step)
    rng = np.random.default_rng(seed)
    spread = [rng.uniform(low, high, 150), low + (high - low) * 10.0 ** -rng.uniform(0, 20, 40)]
    x = np.concatenate([*near, *spread])
    return np.unique(x[(low <= x) & (x <= high)])
