"""What an experiment of the paper comes to: its claims checked, its figures, its numbers, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: what can be said about a figure of the paper
REPRODUCED, CORRECTED, FAILED = "reproduced", "reproduced with a correction", "not reproduced"


@dataclass(frozen=True)
class Check:
    """One thing that the paper says, what it reports, what came out here, and whether it holds."""

    claim: str
    paper: str
    ours: str
    holds: bool


@dataclass(frozen=True)
class Effect:
    """A mistake of the paper or of its code (its number among the errata), and what it does to a number."""

    erratum: int
    what: str
    mistaken: str
    corrected: str
    #: whether the two differ by more than their errors
    matters: bool


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """An experiment of the paper, done again.

    `checks` compare claims and numbers, `effects` show what mistakes did, `tables` (DataFrames) and `figures` hold
    everything that was computed, and `verdict` follows from them: "not reproduced" if a check fails, "reproduced with a
    correction" if all hold but a mistake mattered, else "reproduced".
    """

    name: str
    title: str
    claim: str
    setting: str
    checks: tuple[Check, ...]
    figures: Mapping[str, Any]
    tables: Mapping[str, Any]
    beyond: str
    effects: tuple[Effect, ...] = ()
    captions: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Reproduced, reproduced with a correction, or not reproduced."""
        if not all(check.holds for check in self.checks):
            return FAILED
        return CORRECTED if any(effect.matters for effect in self.effects) else REPRODUCED

    @property
    def why(self) -> str:
        """The verdict's reason, in a sentence."""
        failed = [check.claim for check in self.checks if not check.holds]
        if failed:
            return f"{len(failed)} of {len(self.checks)} checks fail: {'; '.join(failed)}."
        mattered = list(dict.fromkeys(str(effect.erratum) for effect in self.effects if effect.matters))
        held = {1: "The one check holds", 2: "Both checks hold"}.get(
            len(self.checks), f"All {len(self.checks)} checks hold"
        )
        if not mattered:
            return f"{held}."
        errata = f"errata {', '.join(mattered[:-1])} and {mattered[-1]}" if mattered[1:] else f"erratum {mattered[0]}"
        return f"{held}, and {errata} changed numbers by more than their errors."

    def save(self, folder: Path) -> None:
        """Figures as PNG and SVG, tables as CSV."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in self.figures.items():
            figure.savefig(folder / f"{name}.png", dpi=150)
            figure.savefig(folder / f"{name}.svg")
        for name, table in self.tables.items():
            table.to_csv(folder / f"{name}.csv", index=False)

    def __str__(self) -> str:
        lines = [f"{self.title}: {self.verdict}; {self.why}"]
        lines += [f"  [{'x' if c.holds else ' '}] {c.claim}: {c.ours} (paper: {c.paper})" for c in self.checks]
        lines += [f"  erratum {e.erratum}: {e.what}: {e.mistaken} instead of {e.corrected}" for e in self.effects]
        return "\n".join(lines)

    __repr__ = __str__
