"""Values as the Python that makes them again.

What a user wrote as Python (a family of their own, a mechanism, a callable statistic) has no text here; `Unwritable`
then says which part that is.
"""

from __future__ import annotations

import ast
import re
from functools import singledispatch
from typing import Any

import numpy as np
import numpyro.distributions as dist

from confide import populations
from confide._redaction import redacted
from confide.channel import Channel
from confide.design import Family
from confide.expression import Expression
from confide.inference.method import Method
from confide.inference.methods import OwnKernel
from confide.likelihood import Route
from confide.mechanism import Mechanism
from confide.model import Model
from confide.population import Population
from confide.prior import Prior
from confide.privacy import Privacy
from confide.published import Grouped, Hashed, Release, Rows
from confide.statistic import Statistic
from confide.statistic.persons import told_persons
from confide.statistic.statistic import told_bounds

#: characters of a call that is written on one line
_WIDE = 100
#: numbers that are still written out
_MOST = 200


class Unwritable(Exception):
    """A value that only its own program can make."""


@singledispatch
def source(value: Any) -> str:
    """Python for a value, with `cf`, `np` and `dist` for the packages.

    >>> import confide as cf
    >>> source(cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100))
    "cf.Channel(cf.Mean('abs(x)', bounds=(-10.0, 10.0)), cf.Laplace(cf.PureDP(epsilon=1.0)), n=100)"
    """
    if isinstance(value, str):
        return repr(redacted(value))
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, type) and value.__module__.startswith("confide."):
        return f"cf.{value.__name__}"
    if hasattr(value, "__array__") and np.issubdtype(getattr(value, "dtype", object), np.number):
        return _array(np.asarray(value))
    raise Unwritable(f"{type(value).__name__} {value!r}"[:200])


@source.register
def _(value: dict) -> str:
    parts = [f"{key!r}: {source(each)}" for key, each in value.items()]
    return _bracket("{", parts, "}")


@source.register(list)
@source.register(tuple)
def _(value: Any) -> str:
    return _bracket("[", [source(each) for each in value], "]")


def _bracket(start: str, parts: list[str], end: str) -> str:
    """On one line if that is short, else a line each."""
    if sum(map(len, parts)) < _WIDE and not any("\n" in part for part in parts):
        return f"{start}{', '.join(parts)}{end}"
    lines = "".join("    " + part.replace("\n", "\n    ") + ",\n" for part in parts)
    return f"{start}\n{lines}{end}"


def _array(value: Any) -> str:
    if value.ndim == 0:
        # 0.7 in single precision was written 0.7
        return str(value.item()) if value.dtype != np.float32 else str(value[()])
    if (
        value.ndim == 1
        and value.size > 2
        and value[0] != value[-1]
        and np.array_equal(value, np.linspace(value[0], value[-1], value.size))
    ):
        return f"np.linspace({float(value[0])!r}, {float(value[-1])!r}, {value.size})"
    if value.size > _MOST:
        raise Unwritable(f"{value.size:,} numbers, which are in the release's own file")
    return f"np.array({value.astype(float).tolist()!r})"


def _ours(value: Any) -> str:
    """A value of the library that prints as it is written."""
    if not type(value).__module__.startswith("confide."):
        raise Unwritable(f"{type(value).__name__}, which is defined in your own program")
    return re.sub(r"\b([A-Z]\w*)\(", r"cf.\1(", repr(value))


source.register(Mechanism, _ours)
source.register(Privacy, _ours)
source.register(Rows, _ours)
source.register(Hashed, _ours)
source.register(Grouped, _ours)
source.register(Method, _ours)
source.register(Route, _ours)


@source.register
def _(value: OwnKernel) -> str:
    raise Unwritable(f"{value.name}, a kernel of your own")


@source.register
def _(value: Family) -> str:
    return _ours(value).replace("cf.", "cf.families.")


@source.register
def _(value: Statistic) -> str:
    if value.tallies:
        return f"cf.{value!r}"
    if not all(isinstance(each, Expression) for each in value.transforms):
        raise Unwritable(f"the statistic {value}, which is a Python function")
    texts = [str(each) for each in value.transforms]
    level = "".join(f", {each!r}" for each in value.options.values())
    what = texts[0] if value.dimension == 1 else texts
    return (
        f"cf.{type(value).__name__}({', '.join([f'{what!r}{level}', *told_bounds(value.bounds)])}){told_persons(value)}"
    )


@source.register
def _(value: Channel) -> str:
    return f"cf.Channel({source(value.statistic)}, {source(value.mechanism)}, n={value.n})"


@source.register
def _(value: Model) -> str:
    return f"cf.Model({source(value.population)}, {source(value.channel)})"


@source.register
def _(value: Release) -> str:
    names = ("dataset", "part", "column", "purpose", "missing")
    told = {name: getattr(value, name) for name in names}
    given = "".join(f", {name}={source(each)}" for name, each in told.items() if each not in (None, ""))
    return f"cf.Release({source(value.channel)}, {source(value.value)}{given})"


@source.register
def _(value: Population) -> str:
    """A population of `confide.populations`, which remembers the call that makes it or is named by it."""
    if (made := vars(value).get("made")) is not None:
        given = ", ".join(f"{name}={source(each)}" for name, each in made.arguments.items())
        return f"cf.populations.{made.verb}({given})"
    name, _, rest = value.name.partition("(")
    build = getattr(populations, name, None) if name.isidentifier() else None
    try:
        tree = ast.parse(f"_({rest or ')'}", mode="eval").body
        assert isinstance(tree, ast.Call)
        values = [ast.literal_eval(each) for each in tree.args]
        named = {str(each.arg): ast.literal_eval(each.value) for each in tree.keywords}
        if build is not None and build(*values, **named) == value:
            return f"cf.populations.{name}({rest or ')'}"
    except (SyntaxError, ValueError, TypeError, AssertionError):
        pass
    raise Unwritable(f"the population {value.name}, which is defined in your own program")


@source.register
def _(value: dist.Distribution) -> str:
    if getattr(dist, type(value).__name__, None) is not type(value):
        raise Unwritable(f"the distribution {type(value).__name__}")
    given = [f"{name}={source(getattr(value, name))}" for name in value.arg_constraints if name in vars(value)]
    return f"dist.{type(value).__name__}({', '.join(given)})"


@source.register
def _(value: Prior) -> str:
    return source(dict(zip(value.names, value.parts, strict=True)))
