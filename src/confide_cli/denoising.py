"""`denoise`: what the true counts were."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import confide as cf
from confide._digits import around, as_known
from confide_cli.learn import loaded
from confide_cli.show import emit, say
from confide_cli.study import UsageProblem
from confide_cli.tables import Published


def denoise(
    release: Path,
    published: Published,
    totals: list[str],
    claims: list[str],
    quantiles: list[float],
    probability: float,
    as_json: bool,
    *,
    nonnegative: bool,
) -> None:
    """The posterior of the counts of a release file, or of somebody's table, with totals that are numbers or files."""
    if not 0 < probability < 1:
        raise UsageProblem(f"--probability {probability:g} is not between 0 and 1")
    known: list[Any] = [
        int(each) if re.fullmatch("[0-9]{1,15}", each) else _read(Path(each), published) for each in totals
    ]
    found = cf.denoise(_read(release, published), totals=known or None, nonnegative=nonnegative)
    ends = found.interval(probability)
    told = {claim: found.probability(claim) for claim in claims}
    lies = {f"{q:g}": found.quantile(q, probability) for q in quantiles}
    cells = {
        name: {"mean": float(mean), "sd": float(sd), "low": float(low), "high": float(high)}
        for name, mean, sd, (low, high) in zip(found.cells, found.mean, found.sd, ends, strict=True)
    }
    result = {
        "command": "denoise", "prior": found.prior, "totals": found.totals, "cells": cells, "probability": probability,
        "claims": told,
        "quantiles": {q: [end if math.isfinite(end) else None for end in pair] for q, pair in lies.items()},
    }  # fmt: skip

    def show() -> None:
        say(f"True counts ({found.prior}; {found.totals}), and where they lie with probability {probability:g}:")
        for name, each in cells.items():
            mean, spread = as_known(each["mean"], each["sd"]), around(each["sd"])
            say(f"  {name}: {mean} ± {spread}, {each['low']:.0f} to {each['high']:.0f}")
        for claim, share in told.items():
            say(f"{claim}: probability {share:.3g}")
        for q, (low, high) in lies.items():
            say(f"The {q}-quantile of the records lies between {low:g} and {high:g}.")

    emit(as_json, result, show)


def _read(path: Path, published: Published) -> Any:
    """A release of ours, or a table of somebody else's."""
    return published.table(path) if path.suffix.lower() == ".csv" else loaded([path])[0]
