"""From what was typed to values, with what is wrong beside the field that it was typed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from confide.channel import Channel
from confide.errors import ConfideError, InvalidArgument
from confide_cli import words
from confide_cli.priors import read_prior
from confide_explorer.families import FAMILIES
from confide_explorer.quantiles import prior_between
from confide_explorer.state import PageState

T = TypeVar("T")

#: statistics that are still told apart in a table, and the command line's own limit on n
_MOST_STATISTICS, _MOST_RECORDS = 12, 10**12
#: the kinds of guarantees: what the number is called, and where a slider of it begins and ends
KINDS = {
    "pure": ("ε", 0.05, 10.0),
    "gdp": ("μ", 0.05, 10.0),
    "zcdp": ("ρ", 0.001, 10.0),
    "approx": ("ε", 0.05, 10.0),
}


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


@dataclass(frozen=True)
class Assumed:
    """What is known before anything is published."""

    population: Any
    #: the words of the command line, as which it goes into scripts too
    population_words: str
    prior: dict[str, Any]
    prior_words: list[str]
    bounds: tuple[float, float]
    n: int
    privacy: Any
    privacy_words: str


def read_plan(state: PageState) -> tuple[Assumed | None, dict[str, str]]:
    """The values of the first screen, or what is wrong with them."""
    reader = FieldReader(state)
    name = reader("population", lambda text: words.choice("population", text, FAMILIES))
    told, prior, population = "", [], None
    if name is not None:
        told = _called(reader, name)
        population = reader("known" if FAMILIES[name].known else "population", lambda _: words.read_population(told))
        prior = _prior(reader, name)
    bounds = read_bounds(reader)
    n = reader("n", _records)
    reader("counting", lambda text: words.choice("number of records", text, ("public", "about", "private")))
    privacy, privacy_words = read_privacy(reader)
    if reader.errors:
        return None, reader.errors
    assert bounds is not None and n is not None
    return Assumed(population, told, read_prior(prior), prior, bounds, n, privacy, privacy_words), {}


def _called(reader: FieldReader, name: str) -> str:
    """The population as a call in words."""
    option = FAMILIES[name].known
    if option is None or not reader.state.known:
        return name
    value = reader.number("known")
    return name if value is None else f"{name}({option[0]}={value!r})"


def _prior(reader: FieldReader, name: str) -> list[str]:
    found = []
    for place, (parameter, kind, *_) in enumerate(FAMILIES[name].parameters, start=1):
        low, high = reader.number(f"low{place}"), reader.number(f"high{place}")
        if low is not None and high is not None and not low < high:
            told = getattr(reader.state, f"high{place}")
            reader.wrong(f"high{place}", f"“{told}” is not above the other end; give a larger number")
        elif low is not None and high is not None:
            at = f"low{place}" if kind != "share" or low <= 0 else f"high{place}"
            found.append(f"{parameter} ~ {reader(at, _between(kind, low, high))}")
    return found


def _between(kind: str, low: float, high: float) -> Callable[[str], str]:
    return lambda _: prior_between(kind, low, high)


def read_bounds(reader: FieldReader) -> tuple[float, float] | None:
    """What records are clipped to."""
    low, high = reader.number("low"), reader.number("high")
    if low is not None and high is not None and not low < high:
        reader.wrong("high", f"“{reader.state.high}” is not above the lower bound; give a larger number")
        return None
    return None if low is None or high is None else (low, high)


def _records(text: str) -> int:
    bare = text.replace(",", "").replace(" ", "")
    # more digits than any n has are not even read
    if not (bare.isascii() and bare.isdigit() and len(bare) < 20 and 1 <= int(bare) <= _MOST_RECORDS):
        raise InvalidArgument("n", text, "is no number of records", "give a whole number, such as 1000")
    return int(bare)


def read_privacy(reader: FieldReader) -> tuple[Any, str]:
    """The guarantee, and its words."""
    kind = reader("kind", lambda text: words.choice("guarantee", text, KINDS))
    level = reader.number("level")
    delta = reader.number("delta") if kind == "approx" else None
    if kind is None or level is None or (kind == "approx" and delta is None):
        return None, ""
    if level <= 0:
        reader.wrong("level", f"“{reader.state.level}” is not above 0; give a positive number")
        return None, ""
    told = f"{kind}:{level!r}" + (f",{delta!r}" if delta is not None else "")
    bad_delta = delta is not None and not 0 < delta < 1
    return reader("delta" if bad_delta else "level", lambda _: words.read_privacy(told)), told


def read_channel(text: str, plan: Assumed) -> Channel:
    """A statistic in words, with bounds and a mechanism of its own or those of the plan."""
    what, bounds, mechanism = words.split_statistic(text)
    statistic = words.read_statistic(what, bounds or plan.bounds)
    return Channel(statistic, words.read_mechanism(mechanism or "laplace", plan.privacy), plan.n)


def read_channels(state: PageState, plan: Assumed) -> tuple[dict[str, Channel], dict[str, str]]:
    """The statistics that are compared, by their words: none if the best is to be looked for."""
    reader = FieldReader(state)
    private(reader)

    def read(text: str) -> dict[str, Channel]:
        listed = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
        if len(listed) == 1 or len(listed) > _MOST_STATISTICS:
            remedy = f"give two to {_MOST_STATISTICS}, one a line; none, and the best is looked for"
            raise InvalidArgument("statistics", text, "cannot be compared", remedy)
        return {line: read_channel(line, plan) for line in listed}

    reader("precision", lambda text: words.choice("figures", text, ("quick", "exact")))
    return reader("statistics", read) or {}, reader.errors


def read_pick(state: PageState, plan: Assumed) -> tuple[Channel | None, dict[str, str]]:
    """The statistic that was chosen, if one was."""
    reader = FieldReader(state)
    private(reader)
    return (reader("pick", lambda text: read_channel(text, plan)) if state.pick else None), reader.errors


def private(reader: FieldReader) -> None:
    """Say that what is planned here needs a public n."""
    if reader.state.counting == "private":
        reader.wrong(
            "counting",
            "a search plans with a public number of records; where n is private, publish sums, as the last screen says",
        )


def read_wanted(state: PageState, plan: Assumed) -> tuple[dict[str, float], dict[str, str]]:
    """The accuracy that is wanted of each parameter."""
    reader = FieldReader(state)
    found = {}
    for place, name in enumerate(plan.population.names, start=1):
        if getattr(state, f"sd{place}"):
            value = reader.number(f"sd{place}")
            if value is not None and value <= 0:
                reader.wrong(f"sd{place}", f"“{value:g}” is not positive; give how near the answer is to come")
            elif value is not None:
                found[name] = value
    return found, reader.errors
