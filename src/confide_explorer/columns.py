"""What is said of each column: its name, its bounds, its law and what is believed of that, and so the population.

One column has a family of its own; of several a form says how they hang together. What they are called on the command
line is what is read, so that the page, its scripts and its commands know the same populations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confide_cli import words
from confide_explorer.families import FAMILIES, FORMS, ROLES, Offered, role
from confide_explorer.fields import FieldReader
from confide_explorer.quantiles import normal_between, prior_between
from confide_explorer.state import COLUMNS, PageState


@dataclass(frozen=True)
class ColumnFields:
    """A column of the record: the end of its fields' names, and its role."""

    end: str
    name: str
    role: str

    @property
    def offered(self) -> Offered:
        """What is offered for the role; of one that is not known, the first."""
        return ROLES.get(self.role, next(iter(ROLES.values())))

    def fields(self, *names: str) -> tuple[str, ...]:
        """The names of its fields."""
        return tuple(name + self.end for name in names)


def columns_of(state: PageState) -> list[ColumnFields]:
    """The columns that there are."""
    ends = state.columns()
    form = state.rows if len(ends) > 1 else ""
    return [
        ColumnFields(end, getattr(state, f"column{end}"), role(form, getattr(state, f"population{end}"), first=not end))
        for end in ends
    ]


def free_end(state: PageState) -> str | None:
    """Where one more column goes; None where there is no room."""
    return next((end for end in COLUMNS if end not in state.columns()), None)


@dataclass(frozen=True)
class RecordWords:
    """The population and the prior in the words of the command line, and the bounds."""

    population: str
    prior: list[str]
    bounds: Any


def read_record(reader: FieldReader) -> RecordWords | None:
    """What is said of the columns, None where something is wrong with it."""
    columns = columns_of(reader.state)
    if len(columns) == 1:
        (column,) = columns
        # all of them are read, for all that is wrong is said
        law, bounds = _law(reader, column), _bounds(reader, column)
        prior = [] if law is None else _prior(reader, column)
        return None if law is None or bounds is None or reader.errors else RecordWords(law, prior, bounds)
    form = reader("rows", lambda text: words.choice("how columns hang together", text, FORMS))
    _names(reader, columns)
    ends = {column.name: _bounds(reader, column) for column in columns}
    if form is None:
        return None
    told, prior = (_regression if FORMS[form].outcome is not None else _independent)(reader, form, columns)
    return None if reader.errors else RecordWords(f"{form}({', '.join(told)})", prior, ends)


def _names(reader: FieldReader, columns: list[ColumnFields]) -> None:
    """Names that expressions can use, each once."""
    for place, column in enumerate(columns):
        (name,) = column.fields("column")
        if not (column.name.isidentifier() and column.name.isascii()):
            told = f"“{column.name}”" if column.name else "nothing"
            reader.wrong(name, f"{told} is no name for a column of several; use letters, digits and _")
        elif column.name in [other.name for other in columns[:place]]:
            reader.wrong(name, f"“{column.name}” is another column already; call it otherwise")


def _independent(reader: FieldReader, form: str, columns: list[ColumnFields]) -> tuple[list[str], list[str]]:
    told, prior = [], []
    for column in columns:
        if (law := _law(reader, column)) is not None:
            told.append(f"{column.name}={law}")
            prior += [f"{column.name}_{each}" for each in _prior(reader, column)]
    return told, prior


def _regression(reader: FieldReader, form: str, columns: list[ColumnFields]) -> tuple[list[str], list[str]]:
    """The outcome's parameters, a coefficient for each other column, and the laws that these are assumed to have."""
    first, *others = columns
    prior = _prior(reader, first)
    told, pairs = [first.name], []
    for column in others:
        coefficient, values = _pair(reader, column, 1), _pair(reader, column, 2)
        if coefficient is not None and values is not None:
            pairs.append(normal_between(*coefficient))
            mean, sd = normal_between(*values)
            told.append(f"{column.name}=Normal({mean:.6g}, {sd:.6g})")
    if reader.errors:
        return [], []
    means, deviations = (", ".join(f"{value:.6g}" for value in each) for each in (*zip(*pairs, strict=True),))
    return told, [*prior[:1], f"coefficients ~ Normal([{means}], [{deviations}])", *prior[1:]]


def _law(reader: FieldReader, column: ColumnFields) -> str | None:
    """The family of a column as a call in words, with what is known of it."""
    population, known = column.fields("population", "known")
    name = reader(population, lambda text: words.choice("population", text, FAMILIES))
    if name is None:
        return None
    option, told = FAMILIES[name].known, name
    if option is not None and getattr(reader.state, known):
        value = reader.number(known)
        told = name if value is None else f"{name}({option[0]}={value!r})"
    made = reader(known if option is not None else population, lambda _: words.read_population(told))
    return None if made is None else told


def _prior(reader: FieldReader, column: ColumnFields) -> list[str]:
    """A law for each parameter that is learnt, by its two quantiles."""
    found = []
    for place, (parameter, kind, *_) in enumerate(column.offered.parameters, start=1):
        if (ends := _pair(reader, column, place)) is not None:
            at = "low" if kind != "share" or ends[0] <= 0 else "high"
            found.append(f"{parameter} ~ {reader(f'{at}{place}{column.end}', _between(kind, *ends))}")
    return found


def _pair(reader: FieldReader, column: ColumnFields, place: int) -> tuple[float, float] | None:
    return _ordered(reader, f"low{place}{column.end}", f"high{place}{column.end}", "the other end")


def _bounds(reader: FieldReader, column: ColumnFields) -> tuple[float, float] | None:
    return _ordered(reader, f"low{column.end}", f"high{column.end}", "the lower bound")


def _ordered(reader: FieldReader, below: str, above: str, other: str) -> tuple[float, float] | None:
    """Two numbers, the smaller one first."""
    low, high = reader.number(below), reader.number(above)
    if low is None or high is None:
        return None
    if not low < high:
        reader.wrong(above, f"“{getattr(reader.state, above)}” is not above {other}; give a larger number")
        return None
    return low, high


def _between(kind: str, low: float, high: float) -> Callable[[str], str]:
    return lambda _: prior_between(kind, low, high)
