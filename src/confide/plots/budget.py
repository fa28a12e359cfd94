"""How much of each budget is spent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from confide.plots.style import BLUE, new_figure, styled
from confide.privacy import GDP, Privacy

_LEFT = "#DDE6EC"


def share_spent(budget: Privacy, spent: Privacy | None) -> float:
    """The part of a budget that is spent, in the unit in which releases add up.

    >>> import confide as cf
    >>> share_spent(cf.PureDP(2.0), cf.PureDP(0.5)), share_spent(cf.GDP(2.0), cf.GDP(1.0))
    (0.25, 0.25)
    """
    if spent is None:
        return 0.0
    power = 2 if isinstance(budget, GDP) else 1  # μ² adds up
    pairs = zip(vars(spent).values(), vars(budget).values(), strict=True)
    # of an ε and a δ, what is nearer to its end
    return min(1.0, max((used / whole) ** power for used, whole in pairs if whole > 0))


def plot_budgets(names: Sequence[str], shares: Sequence[float]) -> Any:
    """A bar for each budget, with what is spent of it; returns the figure."""
    with styled():
        figure, (axis,) = new_figure(7.2, 0.8 + 0.4 * len(names))
        places = range(len(names))[::-1]
        axis.barh(places, [1.0] * len(names), color=_LEFT, height=0.55)
        axis.barh(places, shares, color=BLUE, height=0.55)
        for place, share in zip(places, shares, strict=True):
            axis.text(1.01, place, f"{share:.0%} spent", va="center")
        axis.set_yticks(list(places), list(names))
        axis.set_xlim(0, 1.15)
        axis.set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])
        axis.tick_params(axis="y", length=0)
    return figure
