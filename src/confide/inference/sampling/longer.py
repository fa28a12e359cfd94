"""Chains that `auto` lets go on where their draws have said too little: as many steps as they ask for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from confide.inference.diagnostics import Diagnostics, diagnose
from confide.posterior import Posterior

#: times as many draws as were asked for, at most
MOST = 4
#: effective draws per chain that are enough, also as a share of the draws; the largest R-hat
_ENOUGH, _SHARE, _LARGEST = 100, 0.1, 1.01


def times(draws: Mapping[str, Any], most: int) -> int:
    """How many times as long chains with these draws (chains, draws, …) should be."""
    chains, count = next(iter(draws.values())).shape[:2]
    return min(_times(diagnose(draws, math.nan, None, []), chains * min(_ENOUGH, _SHARE * count)), most)


def one_in_so_many(found: Posterior, draws: int) -> Posterior:
    """As many draws as were asked for, of chains that went on, which is said."""
    many = next(iter(found.draws.values())).shape[1] // draws
    if many == 1 or not found.complete:
        return found
    few = _fewest(diagnose({name: each[:, :draws] for name, each in found.draws.items()}, math.nan, None, []))
    said = (
        f"{draws:,} draws of each chain were {few:.0f} effective ones in all: these are one in {many} of chains of "
        f"{many * draws:,}"
    )
    old = found.diagnostics
    kept = {name: each[:, many - 1 :: many] for name, each in found.draws.items()}
    diagnostics = diagnose(kept, old.acceptance, old.log_likelihood_variance, [])
    # what was said of all draws is said anew of those that are kept: twice would be two numbers for one thing
    of_all = diagnose(found.draws, old.acceptance, old.log_likelihood_variance, []).warnings
    notes = (each for each in old.warnings if each not in of_all)
    warnings = (said, *diagnostics.warnings, *notes)
    return replace(found, draws=kept, diagnostics=replace(diagnostics, warnings=warnings))


def _fewest(diagnostics: Diagnostics) -> float:
    """The fewest effective draws of any parameter; 0 where a chain never moved."""
    return float(np.nan_to_num(min(np.min(each) for each in diagnostics.ess.values()), nan=0.0))


def _times(diagnostics: Diagnostics, enough: float) -> int:
    """How many times as many draws would be enough, however many that is."""
    wanted = math.ceil(enough / max(_fewest(diagnostics), 1.0))
    agree = all(np.all(np.asarray(each) <= _LARGEST) for each in diagnostics.r_hat.values())
    return wanted if agree else max(wanted, 2)
