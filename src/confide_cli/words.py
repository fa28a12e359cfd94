"""From words to objects: `mean abs(x)`, `pure:1`, `normal_mean(variance=2)`, `variance ~ InverseGamma(2, 2)`.

Nothing is evaluated. A call is parsed by Python's `ast`, and may hold a name, numbers and lists of numbers.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import re
from collections.abc import Iterable
from typing import Any

from confide.errors import InvalidArgument
from confide.registry import FAMILIES, GUARANTEES, MECHANISMS, POPULATIONS, STATISTIC_NUMBERS, STATISTICS
from confide_cli.rows import OF_ROWS, population_of_rows, read_bounds, split_at_commas

#: chosen: each point of a grid costs an information or a posterior
_MOST_POINTS = 100_000


def choice(argument: str, name: str, choices: Iterable[str], *, told: str = "") -> str:
    """A name among several, or an error that says which are meant; `told` instead of all where they are too many."""
    names = list(choices)
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    remedy = f"use {told}" if told else f"use one of {', '.join(names)}"
    raise InvalidArgument(argument, name, "is not known", f"did you mean {near[0]}?" if near else remedy)


def call(argument: str, text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """A name with numbers, safely: `InverseGamma(2, 2)`, `Dirichlet([1, 1, 1])`, `laplace`.

    >>> call("--prior", "Normal(0, scale=2.5)")
    ('Normal', [0.0], {'scale': 2.5})
    """
    remedy = "write a name and numbers, such as InverseGamma(2, 2)"
    try:
        if len(text) > 10_000:
            raise ValueError("too long")
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidArgument(argument, text, "cannot be read", remedy) from None
    if isinstance(node, ast.Name):
        return node.id, [], {}
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise InvalidArgument(argument, text, "is not a name with numbers", remedy)
    names = [keyword.arg for keyword in node.keywords]
    if None in names or len(set(names)) < len(names):
        raise InvalidArgument(argument, text, "is not a name with numbers", remedy)
    try:
        values = [_number(each) for each in node.args]
        named = {str(keyword.arg): _number(keyword.value) for keyword in node.keywords}
    except (ValueError, RecursionError):
        raise InvalidArgument(argument, text, "holds something else than numbers", remedy) from None
    return node.func.id, values, named


def _number(node: ast.expr) -> Any:
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_number(part) for part in parts]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            value = _number(inner)
            if isinstance(value, float):
                return -value
        case ast.Constant(value=value) if isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value) if abs(value) < 1e300 else math.inf
            if math.isfinite(number):
                return number
    raise ValueError("not a number")


def _make(argument: str, text: str, build: Any, values: list[Any], named: dict[str, Any]) -> Any:
    """Call a constructor with numbers; what it says is wrong becomes an error of ours."""
    from confide.errors import ConfideError

    def whole(value: Any) -> Any:
        return int(value) if isinstance(value, float) and value.is_integer() else value

    try:
        counts = {name: whole(value) if name in ("cap", "k") else value for name, value in named.items()}
        return build(*values, **counts)
    except ConfideError:
        raise
    except TypeError:
        name = text.partition("(")[0].strip()
        takes = [each for each in inspect.signature(build).parameters if each not in ("privacy", "args", "kwargs")]
        problem = f"has arguments that {name} does not take"
        raise InvalidArgument(argument, text, problem, _remedy(name, takes, build)) from None


def _remedy(name: str, takes: list[str], build: Any) -> str:
    """What may be given instead; the parameters of a population are inferred, and a prior says what is known."""
    if takes:
        return f"it takes {', '.join(takes)}"
    inferred = getattr(build(), "names", ())
    if not inferred:
        return f"write {name} alone"
    return (
        f"write {name} alone: {', '.join(inferred)} {'are' if len(inferred) > 1 else 'is'} what is learnt, and what is "
        f'known is a prior, such as --prior "{inferred[-1]} ~ LogNormal(0, 0.1)"'
    )


def read_population(text: str) -> Any:
    """`normal_variance`, `normal_mean(variance=2)`, `categorical(3)`, `independent(age=normal, smokes=bernoulli)`.

    >>> read_population("linear_regression(cost, age, stay)").columns
    ('age', 'stay', 'cost')
    """
    from confide import populations

    if (found := OF_ROWS.match(text.strip())) is not None:
        return population_of_rows(found["name"], split_at_commas(found["rest"]), read_population)
    name, values, named = call("--population", text)
    build = getattr(populations, choice("--population", name, POPULATIONS))
    if name == "categorical":
        values = [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
    return _make("--population", text, build, values, named)


def read_privacy(text: str, argument: str = "--privacy") -> Any:
    """`pure:1`, `approx:1,1e-6`, `zcdp:0.5`, `gdp:1`."""
    from confide import privacy

    name, colon, rest = text.partition(":")
    if not colon:
        raise InvalidArgument(argument, text, "is no guarantee", "write pure:1, approx:1,1e-6, zcdp:0.5 or gdp:1")
    word = choice(argument, name.strip(), [word for word in GUARANTEES if word != "unlimited"])
    kind = getattr(privacy, GUARANTEES[word])
    numbers = [read_number(argument, part) for part in rest.split(",")]
    if len(numbers) != (2 if name == "approx" else 1):
        raise InvalidArgument(argument, text, "has the wrong number of numbers", "write pure:1 or approx:1,1e-6")
    return kind(*numbers)


def read_unit(text: str) -> Any:
    """`pure`, `zcdp` or `gdp`: guarantees of one number, of which the least is looked for."""
    from confide import privacy

    return getattr(privacy, GUARANTEES[choice("--unit", text, ("pure", "zcdp", "gdp"))])


def read_number(argument: str, text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidArgument(argument, text, "is not a number", "give a finite number")
    return value


def read_mechanism(text: str, privacy: Any) -> Any:
    """`laplace`, `gaussian(step=1)`, `laplace(scale=0.01)`, `smooth_laplace(cap=20)`."""
    from confide import mechanism

    name, values, named = call("--mechanism", text)
    build = getattr(mechanism, MECHANISMS[choice("--mechanism", name, MECHANISMS)])
    if values:
        raise InvalidArgument("--mechanism", text, "has a number without a name", "write laplace(step=1), for example")
    if name != "noiseless" and "scale" not in named:
        if privacy is None:
            raise InvalidArgument("--privacy", None, f"is needed for {name}", "give for example --privacy pure:1")
        values = [privacy]
    return _make("--mechanism", text, build, values, named)


_ON = re.compile(r"^(?P<what>.*\S)\s+on\s+(?P<low>\S+)\s+(?P<high>\S+)$", re.DOTALL)
_ON_COLUMNS = re.compile(r"^(?P<what>.*\S)\s+on\s+(?P<ends>\w+=[^\s:]+:\S+(\s+\w+=[^\s:]+:\S+)*)$", re.DOTALL)
_WITH = re.compile(r"^(?P<what>.*\S)\s+with\s+(?P<mechanism>[a-z_]+(\(.*\))?)$", re.DOTALL)


def split_statistic(text: str) -> tuple[str, Any, str | None]:
    """The words of a statistic, its own bounds and its own mechanism.

    >>> split_statistic("mean abs(x) on -10 10 with gaussian")
    ('mean abs(x)', [-10.0, 10.0], 'gaussian')
    >>> split_statistic("mean age, cost on age=18:90 cost=0:500")
    ('mean age, cost', {'age': (18.0, 90.0), 'cost': (0.0, 500.0)}, None)
    """
    mechanism: str | None = None
    bounds: Any = None
    text = text.strip()
    if found := _WITH.match(text):
        text, mechanism = found["what"], found["mechanism"]
    if found := _ON_COLUMNS.match(text):
        text, bounds = found["what"], read_bounds(found["ends"].split())
    elif found := _ON.match(text):
        bounds = [read_number("--statistic", found[end]) for end in ("low", "high")]
        text = found["what"]
    return text, bounds, mechanism


def read_records(given: Any) -> int | None:
    """A number of records, or `private`, which is none."""
    if given == "private":
        return None
    if isinstance(given, int):
        return given
    if not re.fullmatch("[1-9][0-9]{0,17}", str(given)):
        raise InvalidArgument("--n", given, "is no number of records", "write --n 100, or --n private for sums")
    return int(given)


def read_statistic(text: str, bounds: Any, categories: Any = None) -> Any:
    """`mean abs(x)`, `mean x, x**2`, `median`, `quantile 0.9 abs(x)`, `each x > 2`; the expression is x if left out."""
    from confide import statistic

    head, _, rest = text.strip().partition(" ")
    build = getattr(statistic, STATISTICS[choice("--statistic", head, STATISTICS)])
    options: dict[str, Any] = {}
    if head == "count":
        return build()
    if head == "histogram":
        return read_histogram(rest)
    if head in STATISTIC_NUMBERS:
        level, _, rest = rest.strip().partition(" ")
        options[STATISTIC_NUMBERS[head]] = read_number("--statistic", level)
    parts = split_at_commas(rest.strip() or "x")
    if categories:
        options["categories"] = categories
    if isinstance(bounds, list):
        bounds = tuple(bounds)
    return build(parts if len(parts) > 1 else parts[0], bounds=bounds, **options)


def read_histogram(text: str) -> Any:
    """`histogram age: 0, 18, 65` by edges, `histogram sex: f, m` by categories; several columns by semicolons.

    >>> read_histogram("sex: f, m; age: 18, 65").cells[:2]
    ('sex=f, age=below 18', 'sex=f, age=18 to 65')
    """
    from confide.statistic import Histogram

    told: dict[str, dict[str, Any]] = {"edges": {}, "categories": {}}
    names = []
    for part in text.split(";"):
        name, colon, rest = part.partition(":")
        listed = [each.strip() for each in rest.split(",") if each.strip()]
        if not colon or not listed:
            remedy = "write 'histogram age: 0, 18, 65' or 'histogram sex: f, m'"
            raise InvalidArgument("--statistic", text, "does not say the cells of a column", remedy)
        names.append(name.strip())
        try:
            told["edges"][names[-1]] = [float(each) for each in listed]
        except ValueError:
            told["categories"][names[-1]] = listed
    return Histogram(names, **{name: value or None for name, value in told.items()})


def read_families(given: Any) -> list[Any]:
    """`clip`, or a list of such names."""
    from confide.design import families

    names = given if isinstance(given, list) else [given]
    return [getattr(families, FAMILIES[choice("--family", str(name), FAMILIES)])() for name in names]


def read_theta(given: Any, dimension: int) -> Any:
    """`2`, `0.1:10:100` (a grid), `1,2` (a vector, or a grid for one parameter); lists of them."""
    import numpy as np

    texts = given if isinstance(given, list) else [given]
    rows = [_theta(each) for each in texts]
    if dimension == 1:
        flat = [value for row in rows for value in row]
        return flat[0] if len(flat) == 1 else np.asarray(flat)
    if any(len(row) != dimension for row in rows):
        raise InvalidArgument("--theta", given, f"does not have {dimension} numbers", "write 1,2 for two parameters")
    return np.asarray(rows[0] if len(rows) == 1 else rows)


def _theta(given: Any) -> list[float]:
    if isinstance(given, list):
        return [read_number("--theta", str(value)) for value in given]
    text = str(given)
    if ":" not in text:
        return [read_number("--theta", part) for part in text.split(",")]
    parts = text.split(":")
    try:
        count = int(parts[2]) if len(parts) == 3 else 0
    except ValueError:
        count = 0
    if not 2 <= count <= _MOST_POINTS:
        raise InvalidArgument("--theta", text, "is not a grid", "write from:to:count, such as 0.1:10:100")
    import numpy as np

    start, stop = (read_number("--theta", part) for part in parts[:2])
    return [float(value) for value in np.linspace(start, stop, count)]
