"""`infer`: what published numbers say about the population."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import confide as cf
from confide_cli.build import channel_of, population_of, prior_of
from confide_cli.page import Page
from confide_cli.show import emit, say
from confide_cli.study import Arguments, UsageProblem


@dataclass(frozen=True)
class Questions:
    """What is asked of a posterior beside its interval."""

    probability: float
    claims: list[str]
    evidence: bool
    against: list[Path]
    plan: bool


def infer(
    study: Arguments,
    files: list[Path],
    value: list[float],
    same: dict[str, Any],
    asked: Questions,
    page: Page,
    as_json: bool,
) -> None:
    """The posterior given release files, or a number that is described in words."""
    page.check()
    probability = asked.probability
    if not 0 < probability < 1:
        raise UsageProblem(f"--probability {probability:g} is not between 0 and 1")
    if not (files or value):
        given_releases(study, files, value)
    population = population_of(study)
    prior = prior_of(study, population)
    releases = given_releases(study, files, value)
    options = study.chosen("method", "route", "key", "chains", "warmup", "draws")
    found = cf.infer(population, releases, prior, **same, **options)
    ends = found.interval(probability)
    other = cf.infer(population, loaded(asked.against), prior, **same, **options) if asked.against else None
    more = _answers(found, other, asked)

    def show() -> None:
        from confide.clipping import clippings

        say(str(found))
        for told in dict.fromkeys(str(each) for each in clippings(found.call, found.mean) if each.matters):
            say(told)
        for line in _in_words(more):
            say(line)
        page.say()

    page.write(found, notes=_in_words(more))
    emit(as_json, {"command": "infer", **_result(found, ends, probability), **more}, show)


def given_releases(study: Arguments, files: list[Path], value: list[float]) -> list[Any]:
    """Of files, or of a number that is described in words."""
    if bool(files) == bool(value):
        raise UsageProblem("give release files, or --value with --statistic, --mechanism and --n, but not both")
    if files:
        return loaded(files)
    return [cf.Release(channel_of(study), value[0] if len(value) == 1 else value)]


def loaded(files: list[Path]) -> list[Any]:
    """The releases of files."""
    return [_load(path) for path in files]


def _answers(found: Any, other: Any, asked: Questions) -> dict[str, Any]:
    """Claims, evidence, the other group, and what would halve the interval."""
    contrast = None
    if other is not None:
        apart = cf.contrast(found, other)
        low, high = apart.interval(asked.probability)
        contrast = {
            "parameter": apart.name, "kind": apart.kind, "mean": apart.mean, "sd": apart.sd, "low": low, "high": high,
            "larger": apart.probability(f"{apart.kind} > 0"),
        }  # fmt: skip
    plan = None
    if asked.plan:
        from confide.design.studies.halving import halving

        plan = halving(found)
    return {
        "claims": {claim: found.probability(claim) for claim in asked.claims},
        "log_evidence": found.log_evidence if asked.evidence else None,
        "contrast": contrast,
        "plan": plan,
    }


def _in_words(more: dict[str, Any]) -> list[str]:
    lines = [f"The probability of {claim} is {share:.4g}." for claim, share in more["claims"].items()]
    if more["log_evidence"] is not None:
        lines.append(f"The log evidence is {more['log_evidence']:.6g}.")
    if (apart := more["contrast"]) is not None:
        lines.append(
            f"Against the other group: {apart['kind']} of {apart['parameter']} {apart['mean']:.4g} ± {apart['sd']:.4g}"
            f", between {apart['low']:.4g} and {apart['high']:.4g}; above 0 with probability {apart['larger']:.4g}."
        )
    return lines + ([more["plan"]] if more["plan"] is not None else [])


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
