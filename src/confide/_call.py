"""A result remembers the call that made it, so that a report can say how to make it again."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from confide._progress import working

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Remembered:
    """A verb and the arguments that it was given; defaults that were left out are left out here too."""

    verb: str
    arguments: Mapping[str, Any]


def remembered(verb: Callable[P, R]) -> Callable[P, R]:
    """Put the call into the field `call` of the frozen result."""

    @functools.wraps(verb)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        with working(verb.__name__):
            result: Any = verb(*args, **kwargs)
        remembering: R = dataclasses.replace(result, call=Remembered(verb.__name__, _given(verb, *args, **kwargs)))
        return remembering

    return wrapper


def _given(function: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
    """The arguments of a call by name."""
    signature = inspect.signature(function)
    given = dict(signature.bind(*args, **kwargs).arguments)
    for name, each in signature.parameters.items():
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            given |= given.pop(name, {})
    return given


def built(builder: Callable[P, R]) -> Callable[P, R]:
    """Put the call into the attribute `made` of a value that is compared by its parts and not by how it was made."""

    @functools.wraps(builder)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        result = builder(*args, **kwargs)
        vars(result)["made"] = Remembered(builder.__name__, _given(builder, *args, **kwargs))
        return result

    return wrapper
