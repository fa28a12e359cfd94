"""The Python script that makes a result again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from confide._call import Remembered
from confide._redaction import redacted
from confide.design import Comparison, Optimum
from confide.design.comparing.verb import describe
from confide.errors import InvalidArgument
from confide.posterior import Posterior
from confide.published import Release, Statement
from confide.reporting.source import Unwritable, source


def script(result: Any) -> str:
    """A script that makes the result again; `Unwritable` where a part of it is the user's own Python.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.01), n=5000)
    >>> print(script(cf.Release(channel, 0.4172)))
    import confide as cf
    <BLANKLINE>
    release = cf.Release(cf.Channel(cf.Mean('x', bounds=(0.0, 1.0)), cf.Laplace(scale=0.01), n=5000), 0.4172)
    print(release)
    <BLANKLINE>
    """
    return with_imports(_lines(result))


def with_imports(lines: list[str]) -> str:
    """Lines with the imports that they need."""
    body = "\n".join(lines)
    needed = ["import confide as cf"]
    if "os.environ" in body:
        needed.insert(0, "import os")
    if "np." in body:
        needed.append("import numpy as np")
    if "dist." in body:
        needed.append("import numpyro.distributions as dist")
    return "\n".join([*needed, "", *lines, ""])


def from_environment(places: Mapping[str, str | None]) -> tuple[dict[str, str], list[str]]:
    """Python for paths and URLs, each under the name of a variable of the environment, and what is to be said of them.

    A URL that holds a secret is left to its variable: a script is handed on.

    >>> where, notes = from_environment({"CONFIDE_DATA": "postgresql://ann:p@host/db", "CONFIDE_LEDGER": "budget.db"})
    >>> list(where.values())
    ["os.environ['CONFIDE_DATA']", "'budget.db'"]
    >>> print(*notes)
    # set CONFIDE_DATA to postgresql://ann:***@host/db, with what is secret in it
    """
    shown = {name: redacted(place) for name, place in places.items() if place is not None}
    secret = [name for name, text in shown.items() if text != places[name]]
    where = {name: f"os.environ[{name!r}]" if name in secret else repr(places[name]) for name in shown}
    return where, [f"# set {name} to {shown[name]}, with what is secret in it" for name in secret]


@singledispatch
def _lines(result: Any) -> list[str]:
    raise InvalidArgument(
        "result", result, "cannot be reported", "give what compare, optimize, infer or release returned"
    )


@_lines.register
def _(result: Release) -> list[str]:
    return [f"release = {source(result)}", "print(release)"]


@_lines.register
def _(result: Statement) -> list[str]:
    raise Unwritable(f"the ledger that keeps the account of {result.dataset}")


@_lines.register(list)
@_lines.register(tuple)
def _(result: Any) -> list[str]:
    if isinstance(result[0], Statement):
        return _lines(result[0])
    return [f"releases = {source(list(result))}", "print(*releases, sep='\\n\\n')"]


@_lines.register
def _(result: Comparison) -> list[str]:
    given = _given(result)
    models = given.pop("models")
    named = models if isinstance(models, dict) else {describe(each): each for each in models}
    channels = {name: model.channel for name, model in named.items()}
    return [
        f"population = {source(next(iter(named.values())).population)}",
        f"channels = {source(channels)}",
        "models = {name: cf.Model(population, channel) for name, channel in channels.items()}",
        f"comparison = cf.compare(models{_options(given)})",
        "print(comparison)",
    ]


@_lines.register
def _(result: Optimum) -> list[str]:
    given = _given(result)
    return [
        f"population = {source(given.pop('population'))}",
        f"best = cf.optimize(population{_options(given)})",
        "print(best)",
        "print(best.explain())",
    ]


@_lines.register
def _(result: Posterior) -> list[str]:
    given = _given(result)
    releases = given.pop("releases")
    return [
        f"population = {source(given.pop('population'))}",
        f"prior = {source(given.pop('prior'))}",
        f"releases = {source([releases] if isinstance(releases, Release) else list(releases))}",
        f"posterior = cf.infer(population, releases, prior{_options(given)})",
        "print(posterior)",
    ]


def _given(result: Any) -> dict[str, Any]:
    call: Remembered | None = result.call
    if call is None:
        raise Unwritable("the call that made it, which it does not remember")
    return dict(call.arguments)


def _options(given: dict[str, Any]) -> str:
    return "".join(f", {name}={source(value)}" for name, value in given.items() if value is not None)
