"""`estimate` and `require`: confidence sets, and what an accuracy costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import confide as cf
from confide.errors import InvalidArgument
from confide.frequentist.entries import entries
from confide.published.codec import encode_channel
from confide.published.terms import encode_privacy
from confide_cli import words
from confide_cli.build import population_of, prior_of, privacy_of, statistic_of
from confide_cli.learn import given_releases, loaded
from confide_cli.show import emit, say
from confide_cli.study import Arguments, UsageProblem


def estimate(
    study: Arguments,
    files: list[Path],
    value: list[float],
    same: dict[str, Any],
    hypotheses: list[str],
    against: list[Path],
    as_json: bool,
) -> None:
    """Confidence sets given release files, or a number that is described in words."""
    population, releases = population_of(study), given_releases(study, files, value)
    asked = [(name, number) for text in hypotheses for name, number in [_hypothesis(text, population)]]
    options = study.chosen("method", "route", "key", "level", "maximize", "replicates")
    found = cf.estimate(population, releases, **same, **options)
    tested = [{"parameter": name, "value": number, "p_value": found.p_value({name: number})} for name, number in asked]
    compared = None
    if against:
        compared = cf.contrast(found, cf.estimate(population, loaded(against), **same, **options))
    result = {
        "command": "estimate",
        "level": found.level,
        "parameters": {
            name: {"estimate": number, "set": [list(part) for part in found.set[name]]}
            for name, number in found.entries.items()
        },
        "method": found.method,
        "route": found.route,
        "notes": list(found.notes),
        "tests": tested,
        "contrast": None if compared is None else _contrast(compared),
    }

    def show() -> None:
        say(str(found))
        for test in tested:
            say(f"p-value of {test['parameter']} = {test['value']:g}: {test['p_value']:.4g}")
        if compared is not None:
            say(str(compared))
            say(f"p-value of equal groups: {compared.p_value():.4g}")

    emit(as_json, result, show)


def _contrast(found: Any) -> dict[str, Any]:
    return {
        "parameter": found.name,
        "kind": found.kind,
        "estimate": found.value,
        "set": [list(part) for part in found.set],
        "conservative": found.conservative,
        "p_value": found.p_value(),
    }


def _hypothesis(text: str, population: Any) -> tuple[str, float]:
    """`variance = 2`."""
    name, equals, number = text.partition("=")
    labels = [entry.label for entry in entries(population.space)]
    if not equals or name.strip() not in labels:
        remedy = f'write "{labels[0]} = 2"; there are {", ".join(labels)}'
        raise InvalidArgument("--hypothesis", text, "says nothing about a parameter", remedy)
    return name.strip(), words.read_number("--hypothesis", number.strip())


def require(study: Arguments, deviations: list[str], unit: str | None, as_json: bool) -> None:
    """The least privacy loss, or the fewest records, for an accuracy."""
    if not deviations:
        raise UsageProblem("--sd is missing; give the accuracy, for example --sd 0.1, or --sd mean=0.1")
    population, privacy, n = population_of(study), privacy_of(study), study.get("n")
    if (privacy is None) == (n is None):
        raise UsageProblem("give either --n (the least privacy loss is found) or --privacy (the fewest records)")
    if unit is not None and privacy is not None:
        raise UsageProblem("--unit says in what the least privacy loss is told, which goes with --n")
    statistic, mechanism = statistic_of(study)
    found = cf.require(
        population,
        statistic,
        lambda level: words.read_mechanism(mechanism, level),
        sd=_deviations(deviations),
        prior=prior_of(study, population),
        n=n,
        privacy=privacy,
        unit=words.read_unit(unit or "zcdp"),
        **study.chosen("route", "key"),
    )
    result = {
        "command": "require",
        "channel": encode_channel(found.channel),
        "privacy": encode_privacy(found.privacy),
        "n": found.n,
        "sd": found.sd,
        "asked": found.asked,
        "error": found.error,
    }
    emit(as_json, result, lambda: say(str(found)))


def _deviations(texts: list[str]) -> Any:
    """`0.1`, or `mean=0.1` for each parameter that matters."""
    if len(texts) == 1 and "=" not in texts[0]:
        return words.read_number("--sd", texts[0])
    named = {}
    for text in texts:
        name, equals, number = text.partition("=")
        if not equals:
            raise InvalidArgument("--sd", text, "names no parameter", "write --sd mean=0.1 for each that matters")
        named[name.strip()] = words.read_number("--sd", number.strip())
    return named
