"""`infer`: what published numbers say about the population."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import confide as cf
from confide_cli.build import channel_of, population_of
from confide_cli.page import Page
from confide_cli.priors import read_prior
from confide_cli.show import emit, say
from confide_cli.study import Arguments, UsageProblem


def infer(
    study: Arguments,
    files: list[Path],
    value: list[float],
    same: dict[str, Any],
    probability: float,
    page: Page,
    as_json: bool,
) -> None:
    """The posterior given release files, or a number that is described in words."""
    page.check()
    if bool(files) == bool(value):
        raise UsageProblem("give release files, or --value with --statistic, --mechanism and --n, but not both")
    if not 0 < probability < 1:
        raise UsageProblem(f"--probability {probability:g} is not between 0 and 1")
    population = population_of(study)
    prior = read_prior(study.need("prior", '"variance ~ InverseGamma(2, 2)"'))
    if files:
        releases = [_load(path) for path in files]
    else:
        releases = [cf.Release(channel_of(study), value[0] if len(value) == 1 else value)]
    options = study.chosen("method", "route", "key", "chains", "warmup", "draws")
    found = cf.infer(population, releases, prior, **same, **options)
    ends = found.interval(probability)

    def show() -> None:
        from confide.clipping import clippings

        say(str(found))
        for told in dict.fromkeys(str(each) for each in clippings(found.call, found.mean) if each.matters):
            say(told)
        page.say()

    page.write(found)
    emit(as_json, {"command": "infer", **_result(found, ends, probability)}, show)


def _load(path: Path) -> Any:
    """A release; of several files, the one that is no release is named."""
    try:
        return cf.Release.load(path)
    except cf.FileError as error:
        told = str(error)
        raise cf.FileError(told if str(path) in told else f"{path}: {told}") from None


def _result(found: Any, ends: Any, probability: float) -> dict[str, Any]:
    diagnostics = found.diagnostics
    parameters = {
        name: {
            "mean": found.mean[name],
            "sd": found.sd[name],
            "low": np.asarray(ends[name])[0],
            "high": np.asarray(ends[name])[1],
            "ess": diagnostics.ess[name],
            "r_hat": diagnostics.r_hat[name],
        }
        for name in found.names
    }
    return {
        "probability": probability,
        "parameters": parameters,
        "method": found.method,
        "route": found.route,
        "acceptance": diagnostics.acceptance,
        "warnings": list(diagnostics.warnings),
        "complete": found.complete,
    }
