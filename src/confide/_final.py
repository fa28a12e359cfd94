"""Classes that nobody derives from, and facts that nobody claims: exact laws are chosen by them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from confide.errors import IncompatibleError

T = TypeVar("T")


def final(remedy: str) -> Callable[[type[T]], type[T]]:
    """Refuse subclasses of a class, with what to do instead.

    Likelihoods, sensitivities and guarantees are chosen by class. A subclass of `Mean` that computes something else
    would have the exact likelihood of a mean, and nobody would be told.

    >>> @final("write a class of your own")
    ... class Known: ...
    >>> class Unknown(Known): ...
    Traceback (most recent call last):
    ...
    confide.errors.IncompatibleError: Unknown cannot be derived from Known, whose exact law would be taken for its own;
    write a class of your own
    """

    def seal(known: type[T]) -> type[T]:
        def refuse(unknown: type, /, **_: Any) -> NoReturn:
            raise IncompatibleError(
                f"{unknown.__name__} cannot be derived from {known.__name__}, whose exact law would be taken for its "
                f"own; {remedy}"
            )

        known.__init_subclass__ = classmethod(refuse)  # type: ignore[assignment, method-assign]
        return known

    return seal


def refuse_claims(somebodys: type, facts: tuple[str, ...]) -> None:
    """Refuse a class from elsewhere that sets a fact by which exact laws are chosen, knowingly or by the same name.

    >>> refuse_claims(type("Own", (), {"averages": 3, "__module__": "survey"}), ("averages", "ranked"))
    Traceback (most recent call last):
    ...
    confide.errors.IncompatibleError: Own sets averages, by which Confide chooses an exact law; use another name
    """
    set_here = {*vars(somebodys), *inspect.get_annotations(somebodys)}
    claimed = [fact for fact in facts if fact in set_here]
    if claimed and not somebodys.__module__.startswith("confide."):
        raise IncompatibleError(
            f"{somebodys.__name__} sets {', '.join(claimed)}, by which Confide chooses an exact law; use another name"
        )
