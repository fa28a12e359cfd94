"""Bugs to plant into the pipeline: each is a mistake that was made once, or could be."""

import dataclasses
import warnings
from fractions import Fraction

import numpy as np

from confide.expression.database import double
from confide.mechanism import response
from confide.published import DataError, Rows
from confide.releasing import aggregate, clipping, plan, quantise, ranks
from confide.releasing.auditing import movement, outcomes

open_source, exact_numbers, record_batches = outcomes.open_source, outcomes.exact_numbers, outcomes.record_batches


def _read(method):
    """A reader of DuckDB's own, whose table then goes the way of a table in memory."""

    def reading(data, column, table, also=None, stop=None):
        import ibis

        connection = ibis.duckdb.connect()
        try:
            found = method(connection, str(data)).to_pyarrow()
        except Exception:
            raise DataError("the file cannot be read") from None
        finally:
            connection.disconnect()
        return open_source(found, column, table, also, stop)

    return lambda patch: patch.setattr(outcomes, "open_source", reading)


sniffed_types = _read(lambda connection, path: connection.read_csv(path))
typed_by_the_first_file = _read(lambda connection, path: connection.read_parquet(path))
dropped_rows = _read(lambda connection, path: connection.read_csv(path, types={"x": "DOUBLE"}, ignore_errors=True))


def _grid(change):
    honest = quantise.grid_of

    def changed(channel):
        grid = honest(channel)
        return dataclasses.replace(grid, **change(grid))

    return changed


def inward_rounding(patch):
    """Ends of the range rounded towards each other, and nothing that clamps to them."""
    drawn_in = _grid(lambda grid: {"low": tuple(x + 1 for x in grid.low), "high": tuple(x - 1 for x in grid.high)})
    patch.setattr(plan, "grid_of", drawn_in)
    clamp = quantise._between
    patch.setattr(quantise, "_between", lambda c, low, high: c if c.type().is_integer() else clamp(c, low, high))


def off_by_one_clamp(patch):
    """Of doubles and of whole numbers: the last of them would mend the first."""
    clip = clipping._clip
    patch.setattr(clipping, "_clip", lambda c, low, high, otherwise: clip(c, low - 1, high + 1, otherwise))
    patch.setattr(
        quantise, "_between", lambda c, low, high: c.between(low, high).ifelse(c, (c < low).ifelse(low - 1, high + 1))
    )


def infinity_clipped(patch):
    """What is infinite or not a number counts as a large number."""
    patch.setattr(
        clipping,
        "_clip",
        lambda c, low, high, otherwise: c.between(low, high).ifelse(
            c, (c < low).ifelse(double(low), c.notnull().ifelse(double(high), double(otherwise)))
        ),
    )


def null_computed(patch):
    """An expression is computed of what is missing: `max(a, null)` is a, which intervals know nothing of."""
    patch.setattr(quantise, "filled", lambda statistic, table, *_: (table, aggregate.engine_columns(statistic)))


def winsorized(patch):
    """The values that are left out count as those next to them, as a mean that is winsorized has them."""
    honest = aggregate._sum_of_ranks

    def total(plan, source, table):
        first, last = plan.channel.statistic.averaged_ranks(plan.channel.n)
        ends = [aggregate._ranks(source, table.select("q0"), rank, rank) for rank in (first, last)]
        more = sum(int(aggregate._only_row(source, end)["q0"]) for end in ends)
        return [honest(plan, source, table)[0] + (first - 1) * more]

    patch.setattr(aggregate, "_sum_of_ranks", total)


def every_column_spends_all(patch):
    """Each column's response is calibrated to the guarantee of all of them."""
    patch.setattr(response, "share_of_columns", lambda privacy, columns: privacy)


def counted_twice(patch):
    patch.setattr(aggregate, "_sum", lambda plan, source, column: (column.sum() + column.max()).cast("string"))


def narrow_sum(patch):
    patch.setattr(aggregate, "_sum", lambda plan, source, column: column.sum().cast("int32").cast("string"))


def wrapped_sum(patch):
    """As an integer that is too short does, without a word."""
    patch.setattr(
        aggregate, "_sum", lambda plan, source, column: (column.sum() % (3 * plan.grid.widths[0] // 2)).cast("string")
    )


def rows_off_by_one(patch):
    honest = aggregate._select

    def select(source, part):
        return honest(source, Rows(part.start + 1, part.stop + 1) if isinstance(part, Rows) and part.start else part)

    patch.setattr(aggregate, "_select", select)


def boundary_in_both_parts(patch):
    """The place at which a part stops belongs to the next part only."""
    from confide.published import part

    honest = part.Hashed.cuts.fget
    patch.setattr(part.Hashed, "cuts", property(lambda self: (honest(self)[0], honest(self)[1] + 1)))


def switch_decided_by_a_float(patch):
    """The joint sensitivity from one evaluation in the middle of each of 16 cells."""
    from confide.releasing.auditing.switches import values_at

    def squared(channel, grid, norm, neighbours=None):
        low, high = channel.statistic.bounds
        values = values_at(channel, low + (high - low) * (np.arange(17) / 16))
        apart = np.linalg.norm(values[:, :, None] - values[:, None, :], ord=norm, axis=0).max()
        return (int(apart / grid.step) + 4) ** 2

    patch.setattr(plan, "squared_sensitivity", squared)
    patch.setattr(movement, "squared_sensitivity", squared)


def half_to_even(patch):
    def centre(self, exact):
        divisor = plan.lattice_divisor(self.channel, self.grid)
        return [round(Fraction(int(u), divisor)) for u in exact]

    patch.setattr(plan.Additive, "centre", centre)


def _sees_values(react):
    """A reader that looks at what a list of numbers holds."""

    def reading(data, column, table, also=None, stop=None):
        react(np.asarray(data, dtype=float))
        return open_source(data, column, table, also, stop)

    return lambda patch: patch.setattr(outcomes, "open_source", reading)


def _refuse(values):
    if np.nanmax(np.abs(values)) > 1e300:
        raise DataError("a value is too large")


def _quote(values):
    raise DataError(f"cannot read {values.max()}")


def _warn(values):
    if np.isnan(values).any():
        warnings.warn("some values are missing", stacklevel=1)


refusal_by_a_record = _sees_values(_refuse)
quoted_record = _sees_values(_quote)
warning_by_a_record = _sees_values(_warn)


def imputed_at_the_bound(patch):
    """A missing value is clipped first and imputed after, when there is nothing left to impute."""

    def numbers(plan, source, part, missing):
        bound = plan.channel.statistic.bounds[1]
        return exact_numbers(plan, source, part, bound if isinstance(missing, float) else missing)

    patch.setattr(outcomes, "exact_numbers", numbers)


def local_sensitivity(patch):
    """Noise by the local sensitivity alone, which neighbours need not share."""

    def scale(self, window):
        cap = self.channel.law.cap
        gap = max(int(window[cap + 1] - window[cap]), int(window[cap] - window[cap - 1]), 1)
        return gap / self.channel.law.alpha

    patch.setattr(ranks.Smooth, "scale", scale)


def rate_without_the_half(patch):
    """The exponential mechanism at rate ε, which only extreme ranks allow."""
    damping = ranks.damping
    patch.setattr(ranks, "damping", lambda rate, count: damping(2 * rate, count))


def centred_records(patch):
    """Each record less the mean of all: one record changes everybody's number."""

    def batches(plan, source, part, missing):
        for batch in record_batches(plan, source, part, missing):
            yield batch - int(batch.mean())

    patch.setattr(outcomes, "record_batches", batches)
