"""Reading a field: its value, or what is wrong with it, which is shown beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from confide.errors import ConfideError, InvalidArgument
from confide_cli import words
from confide_explorer.state import PageState

T = TypeVar("T")


@dataclass
class FieldReader:
    """Reads fields, and remembers what is wrong with each."""

    state: PageState
    errors: dict[str, str] = field(default_factory=dict)

    def __call__(self, name: str, read: Callable[[str], T]) -> T | None:
        """The value of a field, or None where it has none."""
        try:
            return read(getattr(self.state, name))
        except InvalidArgument as error:
            self.wrong(name, f"{_shown(error.value)} {error.problem}; {error.remedy}")
        except ConfideError as error:
            self.wrong(name, str(error))
        return None

    def wrong(self, name: str, message: str) -> None:
        """A message for a field; the first is kept."""
        self.errors.setdefault(name, message.replace("--", ""))

    def number(self, name: str) -> float | None:
        """A finite number."""
        return self(name, lambda text: words.read_number(name, text))


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return f"“{text[:80]}…”" if len(text) > 80 else f"“{text}”" if text else "nothing"
