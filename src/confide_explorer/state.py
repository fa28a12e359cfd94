"""What the reader has said so far: texts, as they were typed, which live in the address of the page.

Nothing is checked here, so that nothing is lost when something is wrong; `reading` turns it into values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from urllib.parse import urlencode

#: characters of a field, which are more than any answer needs; a list of statistics may be longer
_MOST, _MOST_LISTED = 300, 3000


@dataclass(frozen=True)
class PageState:
    """The fields of all screens, by their names in the address."""

    # what is known beforehand
    column: str = "x"
    population: str = "normal_variance"
    known: str = ""
    low: str = "-10"
    high: str = "10"
    #: the family that the prior's ends were typed for: those of another one are not of use to it
    family: str = "normal_variance"
    low1: str = "1"
    high1: str = "8"
    low2: str = ""
    high2: str = ""
    counting: str = "public"
    n: str = "1000"
    kind: str = "pure"
    level: str = "1"
    delta: str = "1e-6"
    # which statistic
    statistics: str = ""
    precision: str = "quick"
    pick: str = ""
    # is it worth it
    sd1: str = ""
    sd2: str = ""
    # what a number says: the digest of a release that is held, or a number of somebody else
    release: str = ""
    published: str = ""
    value: str = ""
    noise: str = "laplace"
    scale: str = ""
    step: str = ""
    count: str = ""
    total: str = ""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> PageState:
        """Of the fields of a form or an address; others are ignored, and what is too long is cut.

        >>> PageState.read({"n": "250", "unknown": "1"}).n
        '250'
        """
        known = {each.name: given[each.name] for each in fields(cls) if each.name in given}
        return cls(**{name: _cut(name, text) for name, text in known.items()})

    def address(self, **changes: str) -> str:
        """The state as the query of an address: what is not as at the beginning.

        >>> PageState(n="250").address(low="0")
        'low=0&n=250'
        """
        changed, first = replace(self, **changes), PageState()
        told = {each.name: getattr(changed, each.name) for each in fields(self)}
        return urlencode({name: text for name, text in told.items() if text != getattr(first, name)})

    def only(self, *names: str) -> PageState:
        """The state as far as a computation depends on it, so that what it found is found again."""
        return PageState(**{name: getattr(self, name) for name in names})


def _cut(name: str, text: str) -> str:
    most = _MOST_LISTED if name == "statistics" else _MOST
    # a text area sends its lines as the web has them
    return text.replace("\r\n", "\n").replace("\x00", "").strip()[:most]


#: the fields that say what is assumed: all screens depend on them
KNOWN = (
    *("population", "known", "low", "high", "family", "low1", "high1", "low2", "high2"),
    *("counting", "n", "kind", "level", "delta"),
)
