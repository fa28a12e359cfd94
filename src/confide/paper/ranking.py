"""Whether the ranking by Fisher information is the ranking by error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from confide.paper.result import Check

#: standard errors by which two errors must differ to be ranked: 1.3e-6 of false alarms, one-sided
_SHOWN = 4.7


class Agreement(NamedTuple):
    """Whether they agree wherever the errors differ by more than chance, and a sentence."""

    holds: bool
    text: str


def agreement(one: Any, two: Any, information: str, mse: str = "mse") -> Agreement:
    """Compare two statistics, row by row of privacy levels.

    A disagreement counts if the mean squared errors differ by more than 4.7 of their standard errors.
    """
    both = ~(one[mse].isna() | two[mse].isna()).to_numpy()
    one, two = one[both], two[both]
    by_information = one[information].to_numpy() > two[information].to_numpy()
    by_error = one[mse].to_numpy() < two[mse].to_numpy()
    noise = np.hypot(one[f"{mse} error"].to_numpy(), two[f"{mse} error"].to_numpy())
    clear = np.abs(one[mse].to_numpy() - two[mse].to_numpy()) > _SHOWN * noise
    same = by_information == by_error
    where = ", ".join(f"{e:g}" for e in one["epsilon"][~same])
    text = f"same ranking at {same.sum()} of {same.size} levels"
    if where:
        text += (
            f"; not at ε = {where}, where the errors {'differ' if np.any(clear & ~same) else 'cannot be told apart'}"
        )
    return Agreement(not bool(np.any(clear & ~same)), text)


def rankings(one: Any, two: Any, information: str, claim: str, said: str) -> tuple[Check, Check]:
    """Whether the information ranks two statistics as their errors do, and whether the first errs less up to ε = 5."""
    agree, small = agreement(one, two, information), one["epsilon"] <= 5
    less = one["mse"][small] < two["mse"][small]
    found = f"smaller MSE at {less.sum()} of {less.size} levels up to 5; F crosses {crossing(one, two, information)}"
    return (
        Check("the ranking by F agrees with the ranking by MSE at every ε", "agrees", agree.text, agree.holds),
        Check(claim, said, found, bool(less.all())),
    )


def crossing(one: Any, two: Any, information: str) -> str:
    """Where the first statistic stops having the larger information, in words."""
    ahead = one[information].to_numpy() > two[information].to_numpy()
    levels = one["epsilon"].to_numpy()
    if np.all(ahead):
        return f"nowhere up to ε = {levels[-1]:g}"
    first = int(np.argmin(ahead))
    return f"between ε = {levels[first - 1]:g} and {levels[first]:g}" if first else f"below ε = {levels[0]:g}"
