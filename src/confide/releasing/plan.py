"""What a channel publishes, as whole numbers: derived from the channel alone, before any record is read.

A *plan* takes the exact whole numbers that an engine computed and returns noisy ones. There is one per kind of
mechanism; the guarantee of each is proved where it is defined, for the whole numbers and the samplers that are
really used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from confide.channel import Channel
from confide.errors import ConfideError, IncompatibleError
from confide.expression import Expression
from confide.mechanism import AdditiveLaw, ExponentialLaw, ResponseLaw, SmoothLaw
from confide.mechanism.counts import squared_counts, squared_moves
from confide.privacy import Unlimited
from confide.privacy.relation import ADD_REMOVE, REPLACE
from confide.privacy.rounding import round_up
from confide.published.codec import encode_channel
from confide.published.value import averaged, lattice_step
from confide.releasing.evaluable import check_evaluable
from confide.releasing.exact import below_many, bernoulli_many
from confide.releasing.noise import Kind, check_scale, draw, gaussian_scale, laplace_scale
from confide.releasing.quantise import StepGrid, grid_of
from confide.releasing.ranks import RanksPlan, Smooth
from confide.releasing.whole_numbers import Plan
from confide.statistic.columns import bounds_by_name
from confide.statistic.persons import rows_of_one

#: how much more noise than the model's a release may have; rounding ranges outward takes a thousandth of this
EXCESS = Fraction(1, 1000)


@dataclass(frozen=True)
class Additive(Plan):
    """Discrete Laplace or discrete Gaussian noise on sums, on order statistics, or on each record.

    *Sensitivity.* A sum of n clamped whole numbers moves by at most the width high − low when one of them is
    replaced, and so does an order statistic of them, or the sum of some ranks (`statistic.trimmed` says why): exact,
    whatever the engine computed. A vector moves by at most
    the L1 or L2 length of its widths, exactly too. Where the expressions are proved to move together by less, by Δ as
    every engine computes them (`statistic.sensitivity`, with a switch that is not decided by intervals counted as
    open), they move by at most Δ/step and what rounding adds. Rounding to the grid moves a coordinate of either record
    by at most ½, and by less than 1 where it ends at a range rounded outward; a lattice's step is no power of two, so
    that the quotient s/step is rounded first: twice that for each coordinate.

    *On a user's lattice* the exact number u is first rounded, ⌊u/step + ½⌋. With c grid steps in a lattice step,
    values at most w grid steps apart are then at most ⌈w/c⌉ lattice steps apart. Counts on their own lattice
    (`mechanism.counts`) are whole numbers of lattice steps before they are rounded, but for the rounding of s/step in
    each record: their sum is within a quarter of a lattice step of a whole number, which rounding then finds.

    *A histogram* counts records, which are whole: a record moves a count by 1/step grid steps, or by ⌈1/step⌉ steps of
    a user's lattice, to which the exact count is rounded.
    """

    kind: Kind
    scale: float

    def centre(self, exact: Any) -> Any:
        """The exact numbers, on the lattice if there is one: what noise is added to."""
        if self.channel.statistic.per_record:
            whole = np.asarray(exact, dtype=np.int64)
            if self.grid.per_lattice is None:
                return whole
            # a shift rounds down, so this is ⌊q/2ʲ + ½⌋ exactly
            return (whole + self.grid.per_lattice // 2) >> (self.grid.per_lattice.bit_length() - 1)
        divisor = lattice_divisor(self.channel, self.grid)
        return exact if divisor is None else [math.floor(Fraction(u, divisor) + Fraction(1, 2)) for u in exact]

    def publish(self, exact: Any) -> Any:
        """The centre plus noise."""
        centre = self.centre(exact)
        noise = draw(self.kind, self.scale, len(centre))
        if self.channel.statistic.per_record:
            # far from overflow: whole numbers are below 2⁶¹, and noise of this scale below 2⁶² but for e^{−64}
            return centre + np.asarray(noise, dtype=np.int64)
        return tuple(int(u) + v for u, v in zip(centre, noise, strict=True))


@dataclass(frozen=True)
class ResponsePlan(Plan):
    """Randomized response on the index of a record's level among k.

    The truth is kept with probability p, a float and so a multiple of 2⁻⁶⁴, and replaced by one of the k − 1 others
    with probability (1 − p)/(k − 1) each, both exactly. p was rounded down, so the guarantee is that of
    `keep_probability` with room to spare. Where columns are answered one by one, that is done with each digit of the
    index, with words of its own: of two records any digits may differ, and the shares of all columns add up.
    """

    def publish(self, exact: Any) -> Any:
        """An answer for each record of a batch."""
        law: Any = self.channel.law
        index = np.asarray(exact, dtype=np.int64)
        answer, unit = np.zeros_like(index), 1
        for k, keep in reversed(law.digits):
            truth = index // unit % k
            lie = (truth + 1 + below_many(k - 1, len(truth))) % k
            answer += unit * np.where(bernoulli_many(Fraction(keep), len(truth)), truth, lie)
            unit *= k
        return answer


def plan_of(channel: Channel) -> Plan:
    """The plan of a channel; refused for what must not or cannot be released."""
    try:
        return _planned(channel)
    except (ConfideError, ImportError):
        raise
    except Exception as error:
        # numbers at the end of the floats, where something on the way overflows or has no value; no record has been
        # read yet, so an error may say anything
        raise IncompatibleError(
            f"{channel!r} cannot be released ({type(error).__name__}: {str(error)[:200]})"
        ) from error


def _planned(channel: Channel) -> Plan:
    if channel.law.noiseless:
        raise IncompatibleError(
            "a Noiseless channel protects nobody, so it is never released; choose a mechanism with noise"
        )
    for transform in channel.statistic.transforms:
        if not isinstance(transform, Expression):
            raise IncompatibleError(
                f"{channel.statistic!r} computes a Python function, whose range is a claim and not a proof, and which "
                "no database can run; write it as a text in the expression language"
            )
        check_evaluable(transform.tree, bounds_by_name(channel.statistic))
    _check_form(channel)
    check_computed(channel)
    match channel.law:
        case SmoothLaw():
            smooth = Smooth(channel, grid_of(channel))
            smooth.damping(0)
            # the largest scale that any records can give: whether it fits must not depend on the records
            check_scale(round_up(Fraction(smooth.grid.widths[0]) / Fraction(channel.law.alpha)))
            return smooth
        case ExponentialLaw():
            ranks = RanksPlan(channel, grid_of(channel))
            ranks.damping(0)  # refused here, where no record has been read
            return ranks
        case ResponseLaw():
            return ResponsePlan(channel, grid_of(channel))
        case AdditiveLaw():
            return _additive(channel)
    raise IncompatibleError(
        f"{channel.mechanism!r} is a mechanism that no exact sampler is known for; use one of Confide's"
    )


def check_computed(channel: Channel) -> None:
    """Refuse what no engine computes in whole numbers, before a record is read."""
    statistic = channel.statistic
    ranks = None if channel.n is None else statistic.averaged_ranks(channel.n)
    if ranks is not None and not (statistic.averages or statistic.ranked) and statistic.dimension > 1:
        raise IncompatibleError(f"{statistic!r} averages ranks, which only one number has; use one expression")
    if ranks is None and not (statistic.totals or statistic.per_record or statistic.tallies):
        raise IncompatibleError(
            f"{statistic!r} is neither a sum nor a mean of ranks nor counts nor a value of each record, which is what "
            "engines compute in whole numbers; it can be modelled, and Release(channel, value) takes what others have "
            "published"
        )


def _check_form(channel: Channel) -> None:
    """Refuse what no file could hold: what a user made, whose promises are claims, and absurd numbers."""
    from pydantic import ValidationError

    from confide.published.schema import ChannelForm

    try:
        ChannelForm.model_validate(encode_channel(channel))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise IncompatibleError(f"{channel!r} cannot be released: {first['msg']}") from None


def lattice_divisor(channel: Channel, grid: StepGrid) -> int | None:
    """How many grid steps of the exact number make one step of a user's lattice; None without one."""
    if grid.per_lattice is None:
        return None
    return grid.per_lattice * averaged(channel)


def _additive(channel: Channel) -> Additive:
    noise, grid = channel.law.added, grid_of(channel)
    assert noise is not None
    kind: Kind = "laplace" if noise.exponential else "gaussian"
    divisor = lattice_divisor(channel, grid)
    scale = _scale(channel, grid, kind, channel.neighbours)
    alone = channel.n is None and channel.statistic.persons is None
    if alone and not isinstance(channel.guarantee_between(REPLACE), Unlimited):
        # a ledger may be told what is promised where a record is replaced: that holds for the whole numbers as well.
        # For persons it is the promise of two steps, which whole numbers keep if they keep that of one
        scale = max(scale, _scale(channel, grid, kind, REPLACE))
    # a scale that was given, or that the model calibrated, is what the likelihood will use: never go below it
    records = averaged(channel) if divisor is None else 1
    unit = grid.step if divisor is None else lattice_step(channel)
    assert unit is not None
    model = Fraction(noise.scale) * records / unit
    scale = max(scale, round_up(model))
    if scale > model * (1 + EXCESS):
        raise IncompatibleError(
            f"{channel!r} cannot be released as it is modelled: on whole numbers its statistic is more sensitive than "
            "on the line; choose another step for the lattice"
        )
    return Additive(channel, grid, kind, check_scale(scale))


def _scale(channel: Channel, grid: StepGrid, kind: Kind, neighbours: str) -> float:
    """The noise that the whole numbers need for what the channel promises between such neighbours."""
    guarantee = channel.guarantee_between(neighbours)
    assert guarantee is not None
    squared = squared_sensitivity(channel, grid, norm=2 if kind == "gaussian" else 1, neighbours=neighbours)
    if squared == 0:
        return 0.0  # a record that is replaced moves nothing, as in a count
    if kind == "gaussian":
        return gaussian_scale(guarantee, squared, channel.statistic.dimension)
    return laplace_scale(guarantee, math.isqrt(squared))


def squared_sensitivity(channel: Channel, grid: StepGrid, norm: int, neighbours: str | None = None) -> int:
    """The square of the most by which the whole numbers that get noise can move, between data sets that are neighbours.

    A record that is replaced moves a coordinate by the width of its range, one that is added or removed by what it is,
    and a person by as much as all rows that are used of one.
    """
    added = (neighbours or channel.neighbours) == ADD_REMOVE
    n, each = (None, None) if added else (channel.n or 1, 1)
    rows = rows_of_one(channel.statistic, n)
    if channel.statistic.tallies:
        return squared_moves(n, grid.step, norm) * rows**2
    divisor = lattice_divisor(channel, grid) or 1
    widths = [-(-rows * width // divisor) for width in (grid.sizes if added else grid.widths)]
    naive = sum(widths) ** 2 if norm == 1 else sum(width**2 for width in widths)
    d = channel.statistic.dimension
    if d == 1 or not (channel.statistic.averages or channel.statistic.totals):
        return naive
    together = Fraction(channel.statistic.sensitivity(each, norm=norm)) / grid.step
    largest = max(map(abs, (*grid.low, *grid.high)))
    off = rows * (1 if grid.per_lattice is None else 1 + Fraction(largest, 2**52))
    # a record's whole number of grid steps is within 2·off of s/step, and s/step within 2⁻⁵¹ of whole lattice steps
    if grid.per_lattice is not None and 2 * off + Fraction(largest, 2**51) < Fraction(grid.per_lattice, 4):
        exact = squared_counts(channel.statistic, n, float(lattice_step(channel) or 0), norm)
        naive = naive if exact is None else min(naive, exact)
    if norm == 1:
        moved = (together + 2 * d * off) / divisor
        return min(naive, (math.floor(moved) if divisor == 1 else math.ceil(moved + d) - 1) ** 2)
    root = Fraction(math.nextafter(math.sqrt(d), math.inf))
    moved = (together + 2 * root * off) / divisor + (0 if divisor == 1 else root)
    return min(naive, math.floor(moved**2))
