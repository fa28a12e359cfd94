"""A study: everything a command is asked, in words, from options and from one TOML file that can be shared.

The file has the names of the options::

    population = "normal_variance"
    privacy = "pure:1"
    n = 100
    theta = "0.1:10:50"
    bounds = [-10, 10]
    statistic = ["mean abs(x)", "mean x**2 on -3.2 3.2"]

An option on the command line goes before the file.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from pathlib import Path
from typing import Any

#: the words of a study, and what a TOML file may hold for each
WORDS: dict[str, tuple[type, ...]] = {
    "population": (str,),
    "statistic": (str, list),
    "bounds": (list, dict),
    "categories": (dict,),
    "mechanism": (str,),
    "privacy": (str,),
    "n": (int, str),
    "assume": (int,),
    "theta": (str, int, float, list),
    "prior": (str, list, dict),
    "criterion": (str,),
    "family": (str, list),
    "method": (str,),
    "route": (str,),
    "key": (int,),
    "chains": (int,),
    "warmup": (int,),
    "draws": (int,),
    "level": (float,),
    "maximize": (str,),
    "replicates": (int,),
    "releases": (int,),
}
#: a megabyte: a study is a page or two, and reading more could exhaust the memory
_LARGEST_FILE = 2**20


class UsageProblem(Exception):
    """A command line, or a study, that cannot be understood; exit code 2."""


class Arguments:
    """The words that were given, options before the file."""

    def __init__(self, file: Path | None, options: dict[str, Any]) -> None:
        found = {} if file is None else _read(file)
        given = {name: value for name, value in options.items() if value not in (None, [], ())}
        self._words = found | given

    def get(self, name: str, default: Any = None) -> Any:
        """A word, if it was given."""
        return self._words.get(name, default)

    def need(self, name: str, example: str) -> Any:
        """A word that must be given."""
        if name not in self._words:
            raise UsageProblem(f"--{name} is missing; give it, for example --{name} {example}, or write it in a study")
        return self._words[name]

    def add(self, name: str, value: Any) -> None:
        """A word that follows from others."""
        self._words[name] = value

    def chosen(self, *names: str) -> dict[str, Any]:
        """Those of several words that were given."""
        return {name: self._words[name] for name in names if name in self._words}


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise UsageProblem(f"the study {path.name} is larger than a megabyte")
        words = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageProblem(f"the study {str(path)!r} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise UsageProblem(f"the study {path.name} is not TOML: {error}") from None
    for name, value in words.items():
        _check(path.name, name, value)
    return words


def _check(file: str, name: str, value: Any) -> None:
    if name not in WORDS:
        near = difflib.get_close_matches(name, WORDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"use {', '.join(WORDS)}"
        raise UsageProblem(f"the study {file} has an unknown word {name!r}; {hint}")
    kind: Any = WORDS[name]
    if isinstance(value, bool) or not isinstance(value, kind):
        kinds = " or ".join(_KINDS[each] for each in WORDS[name])
        raise UsageProblem(f"in the study {file}, {name} is not {kinds}")
    pairs = value.values() if isinstance(value, dict) else [value]
    if name == "bounds" and not all(map(_is_pair, pairs)):
        told = "such as [-10, 10], or two for each column, such as {age = [18, 90]}"
        raise UsageProblem(f"in the study {file}, bounds are not two numbers, {told}")
    if name == "categories" and not all(isinstance(each, list) for each in pairs):
        raise UsageProblem(f'in the study {file}, categories are no lists, such as {{ward = ["surgery", "maternity"]}}')


_KINDS: dict[type, str] = {
    str: "a text", list: "a list", int: "a whole number", float: "a number", dict: "a table",
}  # fmt: skip


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(_is_number(end) for end in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
