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
    signature = inspect.signature(verb)
    extra = [name for name, each in signature.parameters.items() if each.kind is inspect.Parameter.VAR_KEYWORD]

    @functools.wraps(verb)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        with working(verb.__name__):
            result: Any = verb(*args, **kwargs)
        given = dict(signature.bind(*args, **kwargs).arguments)
        for name in extra:
            given |= given.pop(name, {})
        remembering: R = dataclasses.replace(result, call=Remembered(verb.__name__, given))
        return remembering

    return wrapper
