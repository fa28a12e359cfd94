"""Words about rows with several columns: bounds, categories, gaps and names by column, and groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from confide.errors import InvalidArgument
from confide_cli.study import Arguments, UsageProblem


def read_bounds(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """`age=18:90`, once for each column.

    >>> read_bounds(["age=18:90", "cost=10:50000"])
    {'age': (18.0, 90.0), 'cost': (10.0, 50000.0)}
    """
    found: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, value = _pair("--bounds", text, "age=18:90")
        low, colon, high = value.partition(":")
        if not colon:
            raise InvalidArgument("--bounds", text, "does not have two ends", "write age=18:90")
        if name in found:
            raise InvalidArgument("--bounds", text, f"bounds {name!r} twice", "give every column its bounds once")
        found[name] = _number("--bounds", low), _number("--bounds", high)
    return found


def read_categories(texts: Sequence[str]) -> dict[str, list[str]]:
    """`ward=surgery,maternity`, once for each column of text.

    >>> read_categories(["ward=surgery,maternity"])
    {'ward': ['surgery', 'maternity']}
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        name, value = _pair("--category", text, "ward=surgery,maternity")
        if name in found:
            raise InvalidArgument("--category", text, f"lists {name!r} twice", "give every column one list")
        found[name] = value.split(",")
    return found


#: populations of rows, whose words are names of columns
OF_ROWS = re.compile(r"(?P<name>independent|linear_regression|logistic_regression)\((?P<rest>.*)\)", re.DOTALL)


def split_at_commas(text: str) -> list[str]:
    """Words between commas that are in no bracket.

    >>> split_at_commas("age, max(cost, 10)")
    ['age', 'max(cost, 10)']
    """
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def population_of_rows(name: str, parts: list[str], read: Callable[[str], Any]) -> Any:
    """Rows: each column with its population, which `read` knows by its words, or an outcome and its covariates.

    Covariates are named, or all have a law that is known: `linear_regression(cost, age=Normal(40, 12))`.
    """
    from confide import populations

    build, remedy = getattr(populations, name), f"write {name}(cost, age, stay): the outcome, and what it depends on"
    if name == "independent":
        pairs = [part.partition("=") for part in parts]
        columns = [column.strip() for column, _, _ in pairs]
        if not all(sign and column.isidentifier() for column, (_, sign, _) in zip(columns, pairs, strict=True)):
            remedy = "write independent(age=normal, smokes=bernoulli)"
            raise InvalidArgument("--population", ", ".join(parts), "does not name columns and populations", remedy)
        if len(set(columns)) < len(columns):
            raise InvalidArgument("--population", ", ".join(parts), "names a column twice", "give each column one")
        return build(**{column: read(rest.strip()) for column, (_, _, rest) in zip(columns, pairs, strict=True)})
    if len(parts) < 2:
        raise InvalidArgument("--population", ", ".join(parts), "names no covariate", remedy)
    return build(parts[0], _covariates(parts[1:]))


def _covariates(parts: list[str]) -> list[str] | dict[str, Any]:
    """Their names, or their laws by name."""
    pairs = [part.partition("=") for part in parts]
    if not any(sign for _, sign, _ in pairs):
        return parts
    told = ", ".join(parts)
    if not all(name.strip() and law.strip() for name, _, law in pairs):
        remedy = "give all of them a law, as in linear_regression(cost, age=Normal(40, 12)), or none"
        raise InvalidArgument("--population", told, "gives only some of the covariates a law", remedy)
    if len({name.strip() for name, _, _ in pairs}) < len(pairs):
        raise InvalidArgument("--population", told, "names a column twice", "name each once")
    from confide_cli.priors import distribution

    return {name.strip(): distribution(law.strip()) for name, _, law in pairs}


def read_groups(text: str) -> Any:
    """`f=6100,m=5900`, or `f,m` where the sizes are private.

    >>> read_groups("f=6100,m=5900"), read_groups("f,m")
    ({'f': 6100, 'm': 5900}, ['f', 'm'])
    """
    words = text.split(",")
    if not any("=" in word for word in words):
        return words
    found: dict[str, int] = {}
    for word in words:
        name, value = _pair("--groups", word, "f=6100,m=5900")
        if name in found:
            raise InvalidArgument("--groups", text, f"names {name!r} twice", "give every group once")
        if not (value.isascii() and value.isdigit()) or len(value) > 18:
            raise InvalidArgument("--groups", word, "has no number of records", "write f=6100,m=5900")
        found[name] = int(value)
    return found


def read_missing(text: str | None) -> float | str | dict[str, float] | None:
    """`public`, a number to impute, or numbers by column: `cost=0,age=40`.

    >>> read_missing("cost=0,age=40")
    {'cost': 0.0, 'age': 40.0}
    """
    if text is None or text == "public":
        return text
    if "=" not in text:
        return _number("--missing", text)
    pairs = [_pair("--missing", word, "cost=0,age=40") for word in text.split(",")]
    if len(dict(pairs)) < len(pairs):
        raise InvalidArgument("--missing", text, "names a column twice", "give every column one number")
    return {name: _number("--missing", value) for name, value in pairs}


def read_column(text: str | None, statistic: Any) -> str | dict[str, str] | None:
    """The column of the data, or of rows what columns are called there: `age=AGE,cost=COST`."""
    if text is None or "=" not in text or statistic.columns == ("x",):
        return text
    pairs = [_pair("--column", word, "age=AGE,cost=COST") for word in text.split(",")]
    if len(dict(pairs)) < len(pairs):
        raise InvalidArgument("--column", text, "names a column twice", "give every column one name")
    return dict(pairs)


def groups_of(by: str | None, groups: str | None, study: Arguments) -> dict[str, Any]:
    """The groups, if any are asked for; without `--n` it is the sum of their sizes."""
    if (by is None) != (groups is None):
        raise UsageProblem("give --by and --groups together, such as --by sex --groups f=6100,m=5900")
    if groups is None:
        return {}
    sizes = read_groups(groups)
    if isinstance(sizes, dict) and study.get("n") is None:
        study.add("n", sum(sizes.values()))
    return {"by": by, "groups": sizes}


def _pair(argument: str, text: str, example: str) -> tuple[str, str]:
    name, sign, value = text.strip().partition("=")
    if not (name.strip() and sign and value.strip()):
        raise InvalidArgument(argument, text, "does not say which column it is about", f"write {example}")
    return name.strip(), value.strip()


def _number(argument: str, text: str) -> float:
    from confide_cli.words import read_number

    return read_number(argument, text)
