"""What an accuracy costs, in privacy or in records: by simulated releases, or by the curves of accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import confide as cf
from confide.errors import AccuracyError, IncompatibleError, InvalidArgument
from confide.privacy import ApproxDP, Privacy
from confide.reporting.content import of_population
from confide_cli import words
from confide_explorer.answer import Table, table
from confide_explorer.assumed import Assumed
from confide_explorer.scripts import mechanism_of_privacy
from confide_explorer.state import PageState


@dataclass(frozen=True)
class AccuracyCurve:
    """The accuracy to expect of each entry of θ along levels of privacy, or numbers of records."""

    title: str
    label: str
    #: where it was computed: as numbers, and as they are told
    x: list[float]
    at: list[str]
    #: where we are
    here: float
    sd: dict[str, list[float]]

    @property
    def table(self) -> Table:
        """As a table."""
        columns = (self.label, *(f"{name} to ±" for name in self.sd))
        return table(self.title, columns, zip(self.at, *self.sd.values(), strict=True))

    def reaching(self, wanted: dict[str, float]) -> float:
        """Where all that is wanted is reached, between points a straight line in logarithms; at an end if beyond."""
        logs = [np.interp(-np.log(each), -np.log(self.sd[name]), np.log(self.x)) for name, each in wanted.items()]
        return float(np.exp(max(logs)))


def served(plan: Assumed) -> bool:
    """Whether releases can be simulated and analysed by hundreds, as `require` does."""
    return not (plan.private or plan.several)


def level_of(privacy: Privacy) -> float:
    """The number of a guarantee that is turned."""
    return float(next(iter(vars(privacy).values())))


def mechanism_at(state: PageState, privacy: Any) -> Any:
    """The mechanism of the statistic that was chosen, at another guarantee."""
    return words.read_mechanism(words.split_statistic(state.pick)[2] or "laplace", privacy)


def required(
    state: PageState, plan: Assumed, channel: Any, wanted: dict[str, float], curves: list[AccuracyCurve]
) -> tuple[str, tuple[Table, ...], list[str]]:
    """What the accuracy costs, both ways, and the lines of the script."""
    call = f"cf.require(population, channel.statistic, {mechanism_of_privacy(channel)}, sd={wanted!r}, prior=prior, "
    lines, rows, said = [], [], []
    ways: list[tuple[str, dict[str, Any], str]] = [
        ("the least privacy loss", {"n": plan.n, "unit": unit_of(plan)}, f"n={plan.n}, unit={unit_in_python(plan)}"),
        ("the fewest records", {"privacy": plan.privacy}, "privacy=privacy"),
    ]
    for name, given, python in ways:
        lines.append(f"print({call}{python}))")
        try:
            found = cf.require(
                plan.population, channel.statistic, lambda level: mechanism_at(state, level),
                sd=wanted, prior=plan.prior, **given,
            )  # fmt: skip
        except (AccuracyError, IncompatibleError, InvalidArgument) as error:
            rows.append((name, "–", "–", str(error)))
            continue
        reached = ", ".join(f"{each} to ± {found.sd[each]:.3g}" for each in wanted)
        rows.append((name, guarantee(found.privacy), f"{found.n:,}", reached))
        said.append(f"{guarantee(found.privacy)} with {found.n:,} records")
    told = ", ".join(f"{of_population([name])} to ± {value:g}" for name, value in wanted.items())
    sentence = (
        f"To know {told} takes {'; or '.join(said)}." if said else f"{told} is out of reach, or needs no release."
    )
    return (
        sentence[0].upper() + sentence[1:],
        (table("What it costs", ("asked for", "guarantee", "records", "reached"), rows),),
        lines,
    )


def read_off(
    state: PageState, plan: Assumed, channel: Any, wanted: dict[str, float], curves: list[AccuracyCurve]
) -> tuple[str, tuple[Table, ...], list[str]]:
    """What the accuracy costs by the curves, and the lines of the script."""
    rows, said = [], []
    for name, curve in zip(("the least privacy loss", "the fewest records"), curves, strict=True):
        at = curve.reaching(wanted)
        told = f"{symbol(plan)} = {at:.3g}" if curve is curves[0] else f"{at:,.0f} records"
        if at <= curve.x[0] * (1 + 1e-9):
            rows.append((name, f"{told} or less"))
        elif at >= curve.x[-1] * (1 - 1e-9):
            rows.append((name, f"more than {told}, if it can be reached at all"))
            continue
        else:
            rows.append((name, f"about {told}"))
        rest = f"with {plan.n:,} records" if curve is curves[0] else f"under {guarantee(plan.privacy)}"
        said.append(f"{rows[-1][1]} {rest}")
    told = ", ".join(f"{of_population([name])} to ± {value:g}" for name, value in wanted.items())
    sentence = f"To know {told} takes {'; or '.join(said)}." if said else f"{told} is out of reach of the curves."
    lines = [
        f"wanted = {wanted!r}",
        "for x, sds in zip(axes, tables):",
        "    logs = [np.interp(-np.log(wanted[name]), -np.log(sds[f'sd {name}']), np.log(x)) for name in wanted]",
        "    print(np.exp(max(logs)))",
    ]
    return sentence[0].upper() + sentence[1:], (table("What it costs", ("asked for", "by the curves"), rows),), lines


def guarantee(privacy: Any) -> str:
    """ε = 0.5 and its like."""
    names = {"epsilon": "ε", "delta": "δ", "mu": "μ", "rho": "ρ"}
    return ", ".join(f"{names[name]} = {value:.4g}" for name, value in vars(privacy).items())


def symbol(plan: Assumed) -> str:
    """What the privacy loss is called."""
    return guarantee(plan.privacy).partition(" ")[0]


def unit_of(plan: Assumed) -> Any:
    """What makes a guarantee of its number."""
    if isinstance(plan.privacy, ApproxDP):
        delta = plan.privacy.delta
        return lambda epsilon: ApproxDP(epsilon, delta)
    return type(plan.privacy)


def unit_in_python(plan: Assumed) -> str:
    """The same, written down."""
    if isinstance(plan.privacy, ApproxDP):
        return f"lambda epsilon: cf.ApproxDP(epsilon, {plan.privacy.delta!r})"
    return f"cf.{type(plan.privacy).__name__}"
