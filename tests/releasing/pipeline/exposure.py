"""What each record was really exposed to, decoded from the exact sums of a sequence of releases.

Record i holds 4ⁱ, so that the digits of a sum to base 4 say which records are in it and how often. Whatever way the
records were reordered, copied or read from another file in between, a record is known by its value.
"""

from dataclasses import dataclass

import confide as cf
from confide.releasing.plan import plan_of
from tests.releasing.exactly import numbers

RECORDS = 6
BOUNDS = (0, 4**RECORDS)


@dataclass(frozen=True)
class Step:
    """One release of a sequence: where the records are read from, and which of them."""

    data: object
    part: object = None
    epsilon: float = 0.5


def values():
    return [float(4**i) for i in range(RECORDS)]


def members(step, n):
    """How often each record is in a release."""
    plan = plan_of(channel_of(step, n))
    total = numbers(plan, step.data, "x", part=step.part)[0] * plan.grid.step
    assert total.denominator == 1
    return [int(total) // 4**i % 4 for i in range(RECORDS)]


def channel_of(step, n):
    return cf.Channel(cf.Mean("x", BOUNDS), cf.Laplace(cf.PureDP(step.epsilon)), n=n)


def exposures(steps_and_sizes):
    """The sum of ε over the releases that each record is in, as often as it is in them."""
    exposed = [0.0] * RECORDS
    for step, n in steps_and_sizes:
        for record, times in enumerate(members(step, n)):
            exposed[record] += times * step.epsilon
    return exposed


def charged(steps_and_sizes, ledger):
    """What a ledger says was spent for the same releases, made one after the other."""
    ledger.open("people", budget=cf.PureDP(1000.0))
    for step, n in steps_and_sizes:
        data, column = step.data, "x"
        cf.release(
            channel_of(step, n), data, column=column, ledger=ledger, dataset="people", part=step.part, fresh=True
        )
    return ledger.spent("people").epsilon
