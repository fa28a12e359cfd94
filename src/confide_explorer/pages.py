"""What each screen shows: its fields, what is wrong with them, and what has to be computed for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from confide.channel import Channel
from confide.reporting.promise import in_plain_words
from confide_explorer.families import FAMILIES, Offered
from confide_explorer.reading import KINDS, Assumed, read_channels, read_pick, read_plan, read_wanted
from confide_explorer.screens.number import read_foreign, read_total
from confide_explorer.state import KNOWN, PageState

#: the screens in their order, with the question that each answers
SCREENS = {
    "know": "What do you know?",
    "statistic": "Which statistic?",
    "worth": "Is it worth it?",
    "number": "What does this number say?",
    "take": "Take it with you",
}
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
    def offered(self) -> Offered:
        """The family that was chosen, or the first."""
        return FAMILIES.get(self.state.population, FAMILIES["normal_variance"])

    @property
    def families(self) -> dict[str, Offered]:
        """All of them."""
        return FAMILIES

    @property
    def kinds(self) -> dict[str, tuple[str, float, float]]:
        """The kinds of guarantees."""
        return KINDS

    @property
    def elsewhere(self) -> dict[str, str]:
        """What is wrong on the first screen, where another one is shown."""
        return (
            {name: told for name, told in self.errors.items() if name in (*KNOWN, "column")}
            if self.name != "know"
            else {}
        )


def view(name: str, state: PageState, text: str, errors: dict[str, str], typed: str) -> View:
    """A screen for what was said."""
    state = settled(state)
    plan, wrong = read_plan(state)
    errors = wrong | errors
    promise = "" if plan is None else in_plain_words(plan.privacy)
    found, more = _TASKS[name](state, plan, text)
    errors |= more
    stopped = bool(errors) and not (name == "number" and found)
    return View(name, state, errors, plan, () if stopped else found, promise, held=bool(text), typed=typed)


def settled(state: PageState) -> PageState:
    """With the ends of the prior, and the bounds, that suit the family: those of another one say nothing."""
    from dataclasses import replace

    if state.population == state.family or state.population not in FAMILIES:
        return state
    offered = FAMILIES[state.population]
    ends = {f"{end}{place}": "" for place in (1, 2) for end in ("low", "high")}
    for place, (_, _, low, high) in enumerate(offered.parameters, start=1):
        ends |= {f"low{place}": low, f"high{place}": high}
    low, high = offered.bounds
    return replace(state, family=state.population, known="", low=low, high=high, **ends)


def _know(state: PageState, plan: Assumed | None, text: str) -> tuple[tuple[Task, ...], dict[str, str]]:
    return (("know", state.only(*KNOWN), ""),), {}


def _statistic(state: PageState, plan: Assumed | None, text: str) -> tuple[tuple[Task, ...], dict[str, str]]:
    if plan is None:
        return (), {}
    errors = read_channels(state, plan)[1]
    chosen, wrong = read_pick(state, plan)
    tasks: list[Task] = [("rank", state.only(*KNOWN, "statistics", "precision"), "")]
    if chosen is not None:
        tasks.append(("expect", state.only(*KNOWN, "pick"), ""))
    return tuple(tasks), errors | wrong


def _worth(state: PageState, plan: Assumed | None, text: str) -> tuple[tuple[Task, ...], dict[str, str]]:
    if plan is None:
        return (), {}
    chosen, errors = read_pick(state, plan)
    wrong = read_wanted(state, plan)[1]
    task = ("worth", state.only(*KNOWN, "pick", "sd1", "sd2"), "")
    return ((task,) if chosen is not None else ()), errors | wrong


def _number(state: PageState, plan: Assumed | None, text: str) -> tuple[tuple[Task, ...], dict[str, str]]:
    foreign = ("published", "value", "noise", "scale", "step", "count")
    if text:
        errors = read_total(state)
        return ((("number", state.only(*KNOWN, "total"), text),) if not errors else ()), errors
    if state.release:
        gone = "this release is no longer held, as nothing is kept on disk; paste it or choose it again"
        return (), {"text": gone}
    if not (state.published or state.value or state.scale):
        return (), {}
    release, errors = read_foreign(state, plan)
    errors |= read_total(state)
    return (
        (("number", state.only(*KNOWN, *foreign, "total"), ""),) if not errors and _readable(release, plan) else ()
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
    return (("take", state.only(*KNOWN, "column", "statistics", "precision", "pick"), ""),), errors | wrong


_TASKS = {"know": _know, "statistic": _statistic, "worth": _worth, "number": _number, "take": _take}
