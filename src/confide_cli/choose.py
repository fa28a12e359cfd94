"""`information`, `compare` and `optimize`: which statistic to publish."""

from __future__ import annotations

from typing import Any

import confide as cf
from confide import design, registry
from confide.privacy.relation import ADD_REMOVE
from confide.published.codec import encode_channel
from confide_cli import words
from confide_cli.build import assumed_of, channel_of, models_of, population_of, privacy_of, where_of
from confide_cli.page import Page
from confide_cli.rows import split_at_commas
from confide_cli.show import emit, say, table
from confide_cli.study import Arguments, UsageProblem


def information(study: Arguments, as_json: bool) -> None:
    """The Fisher information of what a channel publishes."""
    population, channel = population_of(study), channel_of(study)
    theta = words.read_theta(study.need("theta", "2"), population.dimension)
    found = cf.information(cf.Model(population, channel), theta, **assumed_of(study), **study.chosen("method", "key"))
    result = {
        "command": "information",
        "channel": encode_channel(channel),
        "parameters": found.names,
        "theta": found.theta.reshape(-1, found.theta.shape[-1]),
        "matrix": found.matrix.reshape(-1, *found.matrix.shape[-2:]),
        "standard_error": found.standard_error.reshape(-1, *found.matrix.shape[-2:]),
        "efficiency": None if found.efficiency is None else [float(each) for each in found.efficiency.reshape(-1)],
        "method": found.method,
        "exact": found.exact,
    }

    def show() -> None:
        say(str(channel))
        say()
        say(str(found))

    emit(as_json, result, show)


def compare(study: Arguments, page: Page, as_json: bool) -> None:
    """Several channels side by side."""
    page.check()
    models = models_of(study)
    if len(models) < 2:
        raise UsageProblem('give at least two statistics, such as --statistic "mean abs(x)" --statistic "mean x**2"')
    where = where_of(study, next(iter(models.values())).population)
    found = design.compare(models, **where, **assumed_of(study), **study.chosen("criterion", "method", "key"))
    rows = [{"channel": name, **row} for name, row in found.table.to_dict(orient="index").items()]
    result = {
        "command": "compare",
        "criterion": found.criterion.name,
        "best": found.best,
        "verdict": found.verdict,
        "channels": {name: encode_channel(model.channel) for name, model in models.items()},
        "rows": rows,
    }

    def show() -> None:
        wanted = [
            "channel",
            found.criterion.name,
            "information",
            "efficiency",
            "share of best",
            *_expected(rows),
            "method",
        ]
        table(_shown(rows), list(dict.fromkeys(name for name in [*wanted, "method"] if name in rows[0])))
        say()
        say(found.verdict)
        page.say()

    page.write(found)
    emit(as_json, result, show)


def optimize(study: Arguments, page: Page, as_json: bool) -> None:
    """The best channel at one guarantee."""
    page.check()
    population, privacy = population_of(study), privacy_of(study)
    searched: dict[str, Any] = {}
    if study.get("family") is not None:
        searched["families"] = words.read_families(study.get("family"))
    if population.rows is not None:
        searched["families"] = [_means_of_rows(study)]
    if privacy is None:
        study.need("privacy", "pure:1")
    assumed = assumed_of(study)
    if words.read_records(study.get("n")) is None:
        assumed = {"n": study.need("assume", "2000"), "neighbours": ADD_REMOVE}
    found = design.optimize(
        population,
        privacy=privacy,
        **(assumed or {"n": words.read_records(study.need("n", "100"))}),
        **where_of(study, population),
        **study.chosen("criterion", "key"),
        **searched,
    )
    rows: list[dict[str, Any]] = found.table.to_dict(orient="records")
    result = {
        "command": "optimize",
        "best": encode_channel(found.best),
        "words": in_words(found.best),
        "explanation": found.explain(),
        "rows": rows,
    }

    def show() -> None:
        ranks = found.problem.criterion.name
        wanted = [
            "statistic",
            "mechanism",
            ranks,
            "information",
            "efficiency",
            "share of best",
            *_expected(rows),
            "method",
        ]
        table(_shown(rows[:12]), list(dict.fromkeys(name for name in wanted if name in rows[0])))
        say()
        say(found.explain())
        say()
        say(str(found.best))
        say()
        say(f"To use it: {in_words(found.best)}")
        page.say()

    page.write(found)
    emit(as_json, result, show)


def _expected(rows: list[dict[str, Any]]) -> list[str]:
    """The columns that say what to expect in the units of the data."""
    return [name for name in rows[0] if name.startswith("sd ")] + ["noise ±", "clipped"]


def _shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row | {"clipped": f"{row['clipped']:.1%}"} for row in rows]


def in_words(channel: Any) -> str:
    """The options that describe a channel, for the next command line."""
    statistic, mechanism = channel.statistic, channel.mechanism
    head = next(word for word, name in registry.STATISTICS.items() if name == type(statistic).__name__)
    level = f" {getattr(statistic, registry.STATISTIC_NUMBERS[head]):g}" if head in registry.STATISTIC_NUMBERS else ""
    what = ", ".join(str(transform) for transform in statistic.transforms)
    noise = next(word for word, name in registry.MECHANISMS.items() if name == type(mechanism).__name__)
    options = {name: getattr(mechanism, name, None) for name in registry.MECHANISM_OPTIONS}
    given = ", ".join(f"{name}={value!r}" for name, value in options.items() if value is not None)
    if isinstance(statistic.bounds, tuple):
        bounds = f"--bounds {statistic.bounds[0]!r} {statistic.bounds[1]!r}"
    else:
        bounds = " ".join(f"--bounds {name}={low!r}:{high!r}" for name, (low, high) in statistic.bounds.numbers.items())
    guarantee = "" if mechanism.privacy is None or noise == "noiseless" else f" --privacy {_privacy(mechanism.privacy)}"
    return (
        f'--statistic "{head}{level} {what}" {bounds} '
        f'--mechanism "{noise}{f"({given})" if given else ""}"{guarantee} --n {channel.n or "private"}'
    )


def _means_of_rows(study: Arguments) -> Any:
    """The means whose bounds are searched, and the bounds that are kept; all moments where none are named."""
    if study.get("family") is not None:
        raise UsageProblem(
            "--family is about records of one number; name means of rows by --statistic 'mean age, cost'"
        )
    given = study.get("statistic")
    text = given[0] if isinstance(given, list) and len(given) == 1 else given
    if text is not None and not (isinstance(text, str) and text.strip().startswith("mean ")):
        raise UsageProblem("--statistic of rows is one mean here, such as --statistic 'mean age, age * log(cost)'")
    expressions = None if text is None else split_at_commas(text.strip().removeprefix("mean "))
    bounds = study.get("bounds")
    if not isinstance(bounds, dict | None):
        raise UsageProblem("--bounds of rows name a column, such as --bounds age=18:90")
    return design.families.RowMeans(expressions, bounds)


def _privacy(privacy: Any) -> str:
    kind = {"PureDP": "pure", "ApproxDP": "approx", "ZCDP": "zcdp", "GDP": "gdp"}[type(privacy).__name__]
    return f"{kind}:{','.join(repr(value) for value in vars(privacy).values())}"
