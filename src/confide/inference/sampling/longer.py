"""Chains that `auto` runs again, longer, where the first have said too little: as many steps as they ask for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from confide.inference.diagnostics import Diagnostics, diagnose
from confide.posterior import Posterior

#: effective draws per chain that are enough, also as a share of the draws; the largest R-hat
_ENOUGH, _SHARE, _LARGEST = 100, 0.1, 1.01
#: times as long as was asked for, at most
_MOST = 4


def long_enough(run: Callable[[int], Posterior], chains: int, draws: int) -> Posterior:
    """What a run of so many draws gives, or as many draws of one that is longer, which is said."""
    found = run(draws)
    times = _times(found.diagnostics, chains * min(_ENOUGH, _SHARE * draws))
    if times == 1 or not found.complete:
        return found
    few = _fewest(found.diagnostics)
    longer = run(times * draws)
    said = (
        f"{draws:,} draws of each chain were {few:.0f} effective ones in all: these are one in {times} of chains of "
        f"{times * draws:,}"
    )
    old = longer.diagnostics
    kept = {name: each[:, times - 1 :: times] for name, each in longer.draws.items()}
    diagnostics = diagnose(kept, old.acceptance, old.log_likelihood_variance, [])
    warnings = dict.fromkeys((said, *diagnostics.warnings, *old.warnings))
    return replace(longer, draws=kept, diagnostics=replace(diagnostics, warnings=tuple(warnings)))


def _fewest(diagnostics: Diagnostics) -> float:
    """The fewest effective draws of any parameter; 0 where a chain never moved."""
    return float(np.nan_to_num(min(np.min(each) for each in diagnostics.ess.values()), nan=0.0))


def _times(diagnostics: Diagnostics, enough: float) -> int:
    """How many times as long the chains should be."""
    wanted = math.ceil(min(enough / max(_fewest(diagnostics), 1.0), _MOST))
    agree = all(np.all(np.asarray(each) <= _LARGEST) for each in diagnostics.r_hat.values())
    return wanted if agree else max(wanted, 2)
