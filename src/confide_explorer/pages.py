"""What each screen shows: its fields, what is wrong with them, and what has to be computed for it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from confide.channel import Channel
from confide.reporting.promise import in_plain_words
from confide_explorer.assumed import Assumed
from confide_explorer.columns import ColumnFields, columns_of, free_end
from confide_explorer.families import FAMILIES, FORMS, ROLES, Form, Offered
from confide_explorer.fields import FieldReader
from confide_explorer.reading import (
    COUNTING,
    KINDS,
    labels,
    read_channels,
    read_pick,
    read_plan,
    read_privacy,
    read_wanted,
)
from confide_explorer.screens.number import read_foreign, read_total
from confide_explorer.state import KNOWN, WANTED, PageState

#: the screens in their order, with the question that each answers
SCREENS = {
    "know": "What do you know?",
    "statistic": "Which statistic?",
    "worth": "Is it worth it?",
    "number": "What does this number say?",
    "take": "Take it with you",
}
#: what the first screen asks for and others too
_ASKED = {"statistic": ("kind", "level", "delta"), "worth": ("kind", "level", "delta", "n")}
Task = tuple[str, PageState, str]


@dataclass(frozen=True)
class View:
    """A screen before it is a page."""

    name: str
    state: PageState
    errors: dict[str, str]
    plan: Assumed | None
    tasks: tuple[Task, ...] = ()
    #: what the privacy means, in words
    promise: str = ""
    #: the release that is read: whether one is held, and what was pasted if it could not be read
    held: bool = False
    typed: str = ""
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> list[ColumnFields]:
        """The columns of a record."""
        return columns_of(self.state)

    @property
    def free(self) -> str | None:
        """The end of the fields of one more column, None where there is no room."""
        return free_end(self.state)

    @property
    def said_here(self) -> tuple[str, ...]:
        """The fields that the first screen's own form has, and which it sends along by itself."""
        shown = [f"column{self.free}", *(["rows"] if len(self.columns) > 1 else [])]
        for column in self.columns:
            ends = [f"{end}{place + 1}" for place in range(len(column.offered.parameters)) for end in ("low", "high")]
            law = ["population", *(["known"] if column.offered.known else [])] if self.is_family(column) else []
            shown += column.fields("column", "family", "low", "high", *ends, *law)
        return (*shown, "counting", "n", "kind", "level", "delta")

    def is_family(self, column: ColumnFields) -> bool:
        """Whether a column's role is a family that is chosen for it."""
        return column.role not in ROLES or column.role in FAMILIES

    @property
    def example(self) -> str:
        """A statistic that can be published of such records: of a private number of them, beside a count."""
        names = ", ".join(column.name for column in self.columns) if len(self.columns) > 1 else "x"
        return f"sum 1, {names}" if self.state.counting == "private" else f"mean {names}"

    @property
    def families(self) -> dict[str, Offered]:
        """What a column may be."""
        return FAMILIES

    @property
    def forms(self) -> dict[str, Form]:
        """How columns may hang together."""
        return FORMS

    @property
    def counting(self) -> dict[str, str]:
        """What may be known of the number of records."""
        return COUNTING

    @property
    def wanted(self) -> list[tuple[str, str]]:
        """The fields for how near the answer must come, and the parameters that they are about."""
        return [] if self.plan is None else list(zip(WANTED, labels(self.plan), strict=False))

    @property
    def kinds(self) -> dict[str, tuple[str, float, float]]:
        """The kinds of guarantees."""
        return KINDS

    @property
    def elsewhere(self) -> dict[str, str]:
        """What is wrong on the first screen and is not asked for on this one."""
        asked = (*KNOWN, "column") if self.name == "know" else _ASKED.get(self.name, ())
        return {name: told for name, told in self.errors.items() if name in (*KNOWN, "column") and name not in asked}


def view(name: str, state: PageState, text: str, errors: dict[str, str], typed: str) -> View:
    """A screen for what was said."""
    state = settled(state)
    plan, wrong = read_plan(state)
    errors = wrong | errors
    privacy, _ = read_privacy(FieldReader(state))
    promise = "" if privacy is None else in_plain_words(privacy)
    found, more = _TASKS[name](state, plan, text)
    errors |= more
    stopped = bool(errors) and not (name == "number" and found)
    return View(name, state, errors, plan, () if stopped else found, promise, held=bool(text), typed=typed)


def settled(state: PageState) -> PageState:
    """With the ends of the prior, and the bounds, that suit each column's role: those of another one say nothing.

    >>> settled(PageState(column_b="age")).high1_b
    '3'
    """
    if len(state.columns()) > 1 and state.rows not in FORMS:
        return state
    for column in columns_of(state):
        if column.role == getattr(state, f"family{column.end}") or column.role not in ROLES:
            continue
        low, high = column.offered.bounds
        told = {"family": column.role, "known": "", "low": low, "high": high}
        told |= {f"{end}{place}": "" for place in (1, 2) for end in ("low", "high")}
        for place, (_, _, least, most) in enumerate(column.offered.parameters, start=1):
            told |= {f"low{place}": least, f"high{place}": most}
        state = replace(state, **{name + column.end: text for name, text in told.items()})
    return state


def known(state: PageState) -> tuple[str, ...]:
    """What is assumed: what one column is called is no part of it, but rows are about their names."""
    return (*KNOWN, "column") if len(state.columns()) > 1 else KNOWN


def _know(state: PageState, plan: Assumed | None, text: str) -> tuple[tuple[Task, ...], dict[str, str]]:
    return (("know", state.only(*known(state)), ""),), {}


def _statistic(state: PageState, plan: Assumed | None, text: str) -> tuple[tuple[Task, ...], dict[str, str]]:
    if plan is None:
        return (), {}
    errors = read_channels(state, plan)[1]
    chosen, wrong = read_pick(state, plan)
    tasks: list[Task] = [("rank", state.only(*known(state), "statistics", "precision"), "")]
    if chosen is not None:
        tasks.append(("expect", state.only(*known(state), "pick"), ""))
    return tuple(tasks), errors | wrong


def _worth(state: PageState, plan: Assumed | None, text: str) -> tuple[tuple[Task, ...], dict[str, str]]:
    if plan is None:
        return (), {}
    chosen, errors = read_pick(state, plan)
    wrong = read_wanted(state, plan)[1]
    task = ("worth", state.only(*known(state), "pick", *WANTED), "")
    return ((task,) if chosen is not None else ()), errors | wrong


def _number(state: PageState, plan: Assumed | None, text: str) -> tuple[tuple[Task, ...], dict[str, str]]:
    foreign = ("published", "value", "noise", "scale", "step", "count")
    if text:
        errors = read_total(state)
        return ((("number", state.only(*known(state), "total"), text),) if not errors else ()), errors
    if state.release:
        gone = "this release is no longer held, as nothing is kept on disk; paste it or choose it again"
        return (), {"text": gone}
    if not (state.published or state.value or state.scale):
        return (), {}
    release, errors = read_foreign(state, plan)
    errors |= read_total(state)
    return (
        (("number", state.only(*known(state), *foreign, "total"), ""),)
        if not errors and _readable(release, plan)
        else ()
    ), errors


def _readable(release: Any, plan: Assumed | None) -> bool:
    """Counts need no population."""
    channel: Channel = release.channel
    return plan is not None or channel.statistic.tallies or channel.statistic.counts


def _take(state: PageState, plan: Assumed | None, text: str) -> tuple[tuple[Task, ...], dict[str, str]]:
    if plan is None:
        return (), {}
    errors = read_channels(state, plan)[1]
    wrong = read_pick(state, plan)[1]
    return (("take", state.only(*known(state), "column", "statistics", "precision", "pick"), ""),), errors | wrong


_TASKS = {"know": _know, "statistic": _statistic, "worth": _worth, "number": _number, "take": _take}
