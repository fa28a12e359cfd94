"""What is known of the true counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from confide._digits import around, within
from confide.denoising.masses import CountMasses, Floats
from confide.denoising.tree import Node, draw
from confide.errors import ConfideError, IncompatibleError, InvalidArgument
from confide.expression import Expression

#: independent draws of the counts, from which probabilities of statements are shares
_DRAWS = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class TrueCounts:
    """The posterior of the exact counts of a table: of what was counted, not of the population.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Histogram("sex", categories=["f", "m"]), cf.Laplace(scale=2.0, step=1), n=None)
    >>> known = cf.denoise(cf.Release(channel, [31.0, 24.0, 0.0]))
    >>> print(known.interval(0.9)[0])
    [26. 35.]
    """

    cells: tuple[str, ...]
    #: the exact probabilities of each cell's counts
    masses: tuple[CountMasses, ...]
    #: what was believed before, in words
    prior: str
    #: what is known of totals, in words
    totals: str
    root: Node
    key: int = 0
    #: where the cells of one column of numbers meet; none for texts and for several columns
    edges: tuple[float, ...] = ()

    @cached_property
    def mean(self) -> Floats:
        """The mean of each count."""
        return np.array([masses.counts @ masses.p / masses.p.sum() for masses in self.masses])

    @cached_property
    def sd(self) -> Floats:
        """The standard deviation of each count."""
        each = zip(self.masses, self.mean, strict=True)
        return np.array([np.sqrt((one.counts - mean) ** 2 @ one.p / one.p.sum()) for one, mean in each])

    def interval(self, probability: float = 0.9) -> Floats:
        """The shortest run of whole numbers with this probability or more, for each cell: (cells, 2).

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Count(), cf.Laplace(scale=1.0, step=1))
        >>> print(cf.denoise(cf.Release(channel, 40.0)).interval(0.5))
        [[39. 40.]]
        """
        if not 0 < probability < 1:
            raise InvalidArgument("probability", probability, "is not between 0 and 1", "use for example 0.9")
        return np.array([_shortest(masses, probability) for masses in self.masses])

    @cached_property
    def draws(self) -> dict[str, Floats]:
        """Independent draws of all counts together, by the names of the cells."""
        found = draw(self.root, np.random.default_rng(self.key), _DRAWS, len(self.cells))
        return {name: found[:, place] for place, name in enumerate(self.cells)}

    def probability(self, statement: str) -> float:
        """The probability of a statement about cells by their names: the share of 10,000 draws.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Histogram("sex", categories=["f", "m"]), cf.Laplace(scale=2.0, step=1), n=None)
        >>> cf.denoise(cf.Release(channel, [31.0, 11.0, 0.0])).probability("f > m") > 0.99
        True
        """
        if not isinstance(statement, str) or not statement.strip():
            raise InvalidArgument("statement", statement, "is not a text", 'write for example "male > female"')
        # names may hold blanks and signs: the longest first, so that none is taken for a part of another
        order = sorted(range(len(self.cells)), key=lambda place: -len(self.cells[place]))
        pattern = "|".join(rf"(?<!\w){re.escape(self.cells[place])}(?!\w)" for place in order)
        codes = {self.cells[place]: f"cell_{place}" for place in order}
        text = re.sub(pattern, lambda found: codes[found[0]], statement)
        names = tuple(codes[name] for name in self.cells)
        try:
            expression = Expression(text, names)
        except ConfideError as error:
            remedy = f'write cells by their names, as in "{self.cells[0]} > {self.cells[-1]}": {error}'
            raise InvalidArgument("statement", statement, "cannot be read", remedy) from None
        values = expression({codes[name]: drawn for name, drawn in self.draws.items()})
        return float(np.mean(np.asarray(values)))

    def quantile(self, q: float, probability: float = 0.9) -> tuple[float, float]:
        """Between which edges the q-quantile of the records lies with this probability or more.

        Nothing is assumed of how records lie within a cell, so that these are edges; infinite for the outermost cells.
        Of the record of rank ⌈qN⌉ each of 10,000 draws of the counts says in which cell it is.

        >>> import confide as cf
        >>> ages = cf.Histogram("age", edges=[0, 18, 40, 65, 90])
        >>> counts = cf.Release(cf.Channel(ages, cf.Laplace(scale=2.0, step=1)), [0.0, 230.0, 310.0, 250.0, 120.0, 0.0])
        >>> cf.denoise(counts).quantile(0.5), cf.denoise(counts).quantile(0.25)
        ((18.0, 40.0), (0.0, 40.0))
        """
        if not self.edges:
            raise IncompatibleError("a quantile needs cells of one column of numbers; denoise a Histogram with edges")
        for name, value in (("q", q), ("probability", probability)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
                raise InvalidArgument(name, value, "is not between 0 and 1", "use for example 0.5")
        drawn = np.stack([self.draws[name] for name in self.cells], axis=1)
        totals = drawn.sum(axis=1)
        if np.mean(totals <= 0) > 1 - probability:
            raise IncompatibleError("the counts leave it open whether there are records; a quantile is not known")
        ranks = np.ceil(q * np.maximum(totals, 1))
        place = np.argmax(np.cumsum(drawn, axis=1) >= ranks[:, None], axis=1)
        share = np.cumsum(np.bincount(place, minlength=len(self.cells))) / len(place)
        before, ends = np.concatenate([[0.0], share]), np.array([-np.inf, *self.edges, np.inf])
        # the fewest cells, and of these the most probable
        runs = [(last - first, before[first] - before[last], first, last)
                for first in range(len(self.cells)) for last in range(first + 1, len(self.cells) + 1)
                if before[last] - before[first] >= probability - 1e-12]  # fmt: skip
        _, _, first, last = min(runs)
        return float(ends[first]), float(ends[last])

    def plot(self) -> Any:
        """A bar for each cell with its 90% interval; returns the matplotlib figure.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Count(), cf.Laplace(scale=1.0, step=1))
        >>> type(cf.denoise(cf.Release(channel, 40.0)).plot()).__name__
        'Figure'
        """
        from confide.plots.counts import plot_counts

        return plot_counts(self.cells, self.mean, self.interval(0.9), words="true counts, mean and 90%")

    def summary(self) -> Any:
        """A table of the means, standard deviations and 90% intervals.

        >>> import confide as cf
        >>> print(cf.denoise(cf.Release(cf.Channel(cf.Count(), cf.Laplace(scale=1.0, step=1)), 40.0)).summary())
               mean        sd    5%   95%
        count  40.0  1.356962  38.0  42.0
        """
        import pandas

        low, high = self.interval(0.9).T
        columns = {"mean": self.mean, "sd": self.sd, "5%": low, "95%": high}
        return pandas.DataFrame(columns, index=list(self.cells))

    def __str__(self) -> str:
        low, high = self.interval(0.9).T
        lines = [
            f"  {name}: {within(mean, sd)} ± {around(sd)}, {a:.0f} to {b:.0f} (90%)"
            for name, mean, sd, a, b in zip(self.cells, self.mean, self.sd, low, high, strict=True)
        ]
        return "\n".join([f"True counts ({self.prior}; {self.totals})", *lines])

    def __repr__(self) -> str:
        return f"TrueCounts({len(self.cells)} cells, {self.prior}; {self.totals})"


def _shortest(masses: CountMasses, probability: float) -> tuple[float, float]:
    p = np.concatenate([[0.0], np.cumsum(masses.p / masses.p.sum())])
    ends = np.searchsorted(p, p + probability - 1e-12)
    inside = ends < p.size
    length = np.where(inside, ends - np.arange(p.size), p.size)
    # of runs of one length the most probable
    mass = np.where(inside, p[np.minimum(ends, p.size - 1)] - p, 0.0)
    best = int(np.lexsort((-mass, length))[0])
    return float(masses.counts[best]), float(masses.counts[ends[best] - 1])
