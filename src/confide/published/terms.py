"""Guarantees, parts and names as files have them: what a ledger reads, without the channels that they belong to."""

from __future__ import annotations

from typing import Any

from confide.errors import InvalidArgument
from confide.privacy import Privacy
from confide.published.part import Grouped, Hashed, Part, Rows
from confide.registry import members

#: the classes that a file can name
_GUARANTEES = members("privacy")


def encode_privacy(privacy: Privacy) -> dict[str, Any]:
    """A guarantee as its kind and its parameters.

    >>> from confide import PureDP
    >>> encode_privacy(PureDP(1.0))
    {'kind': 'PureDP', 'epsilon': 1.0}
    """
    return {"kind": type(privacy).__name__, **vars(privacy)}


def decode_privacy(form: dict[str, Any]) -> Privacy:
    """The guarantee of a form."""
    parameters = {name: value for name, value in form.items() if name != "kind"}
    privacy: Privacy = _GUARANTEES[form["kind"]](**parameters)
    return privacy


def encode_part(part: Part | str | None) -> dict[str, Any] | None:
    """A part as a file has it."""
    if part is None:
        return None
    if isinstance(part, str):
        return {"kind": "named", "name": part}
    return {"kind": type(part).__name__.lower(), **vars(part)}


def decode_part(form: dict[str, Any] | None) -> Part | str | None:
    """The part of a form."""
    if form is None:
        return None
    parameters = {name: value for name, value in form.items() if name != "kind"}
    if form["kind"] == "named":
        return str(parameters["name"])
    kinds: dict[str, Any] = {"rows": Rows, "hashed": Hashed, "grouped": Grouped}
    part: Part = kinds[form["kind"]](**parameters)
    return part


def check_name(argument: str, value: object) -> str | None:
    """A name, or nothing."""
    if value is None or (isinstance(value, str) and 0 < len(value) <= 1000):
        return value
    raise InvalidArgument(argument, value, "is not a name", "give a text of 1 to 1000 characters, or leave it out")
