"""What the reader has said so far: texts, as they were typed, which live in the address of the page.

Nothing is checked here, so that nothing is lost when something is wrong; `reading` turns it into values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, make_dataclass, replace
from urllib.parse import urlencode

#: what ends the names of a column's fields: those of the first have no end, and a column without a name is not there
COLUMNS = ("", "_b", "_c", "_d")
#: what is said of each column: its name, its law, what is known of that, bounds, the role that the ends are about, and
#: between which values its parameters lie
OF_A_COLUMN = ("column", "population", "known", "low", "high", "family", "low1", "high1", "low2", "high2")
#: the wanted accuracy of each parameter, of which a column has two at most
WANTED = tuple(f"sd{place}" for place in range(1, 2 * len(COLUMNS) + 1))

#: characters of a field, which are more than any answer needs; a list of statistics may be longer
_MOST, _MOST_LISTED = 300, 3000
#: the family of a further column at first
_LAW = "normal_mean"


#: the fields of the columns after the first, which has them with what is usually believed at first, and of accuracies
_Repeated = make_dataclass(
    "_Repeated",
    [
        *((f"{name}{end}", str, _LAW if name == "population" else "") for end in COLUMNS[1:] for name in OF_A_COLUMN),
        *((name, str, "") for name in WANTED),
    ],
    frozen=True,
)


@dataclass(frozen=True)
class PageState(_Repeated):  # type: ignore[misc, valid-type]
    """The fields of all screens, by their names in the address."""

    # what is known beforehand; of further columns see above, and of rows how their columns hang together
    rows: str = "independent"
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

    def columns(self) -> tuple[str, ...]:
        """The ends of the names of the columns' fields: the first is always there, another where it has a name.

        >>> PageState(column_c="age").columns()
        ('', '_c')
        """
        return tuple(end for end in COLUMNS if not end or getattr(self, f"column{end}"))

    def only(self, *names: str) -> PageState:
        """The state as far as a computation depends on it, so that what it found is found again."""
        return PageState(**{name: getattr(self, name) for name in names})


def _cut(name: str, text: str) -> str:
    most = _MOST_LISTED if name == "statistics" else _MOST
    # a text area sends its lines as the web has them
    return text.replace("\r\n", "\n").replace("\x00", "").strip()[:most]


#: the fields that say what is assumed: all screens depend on them
KNOWN = (
    *(f"{name}{end}" for end in COLUMNS for name in OF_A_COLUMN if name + end != "column"),
    *("rows", "counting", "n", "kind", "level", "delta"),
)
