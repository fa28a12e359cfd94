"""`study`: simulated releases and their posteriors, to see whether the information predicts the error."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide._precision import float64
from confide._random import as_key, key_as_numbers, key_of_numbers
from confide.channel import Channel
from confide.design.adaptive.plan import Adaptive
from confide.design.levels import level_of, with_privacy
from confide.design.points import Points, prior_points
from confide.design.studies.numbers import Numbers
from confide.design.studies.piloting import Pilot
from confide.design.studies.ratio import ClassicalRatio
from confide.design.studies.simulate import PROBS, StudyCell, simulate
from confide.design.studies.study_cache import StudyCache, assumed, describe, require_text
from confide.errors import InvalidArgument
from confide.likelihood import Route
from confide.likelihood.totals.number import NAME
from confide.population import Population
from confide.prior import Prior
from confide.privacy import Privacy
from confide.statistic.size import check_count
from confide.workers import check_executor, computed

Floats = NDArray[np.float64]
#: what can be studied
Strategy = Channel | Pilot | Adaptive | ClassicalRatio


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The outcome of a study: `table` has a row per strategy, level of privacy, θ* and parameter.

    Its columns: `mse` of the posterior mean with its standard error `mse_se`, `bias`, `coverage_50`, `coverage_90`,
    `coverage_95` and `width_…` of central intervals, `posterior_variance` (the mean of it), `predicted_variance` (from
    the Fisher information, where it is known) and `choice`, what a pilot chose most often. `notes` say where the normal
    approximation stood in for the exact likelihood (which is warned of, too).

    >>> import confide as cf, numpyro.distributions as dist
    >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Gaussian(cf.GDP(1.0)), n=100)
    >>> prior = {"variance": dist.LogNormal(0.5, 0.5)}
    >>> found = cf.study(cf.populations.normal_variance(), {"abs": channel}, prior=prior, theta=2.0, releases=100,
    ...                  route="normal")
    >>> found.computed, found.found
    (1, 0)
    """

    table: Any
    computed: int
    found: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = self.table.to_string(index=False, float_format=lambda number: f"{number:.4g}")
        return "\n".join([f"{text}\n\n{self.computed} cells computed, {self.found} found on disk.", *self.notes])

    __repr__ = __str__


@float64
def study(
    population: Population,
    strategies: Mapping[str, Strategy],
    *,
    prior: Any,
    theta: Any = None,
    privacy: Sequence[Privacy | float] | None = None,
    releases: int = 1000,
    key: Any = 0,
    route: str | Route = "auto",
    path: str | os.PathLike[str] | None = None,
    executor: Any = None,
    n: int | None = None,
) -> Study:
    """Simulate releases through several channels or pilot plans, infer from all of them, and report the errors.

    `theta` are the true values θ*, each with so many `releases`; left out, every release draws its own from the prior
    (then intervals must cover as often as they promise). `privacy` lists the levels (guarantees, or numbers of the
    channels' own kind) at which all strategies are tried; left out, each keeps its own. With a `path` to a folder every
    finished cell is kept, and a study that is run again continues where it stopped. Cells are computed by an
    `executor`, if one is given: `Workers(8)`, or anything with `submit` as in `concurrent.futures`. How many processes
    it has changes no digit of the answer.

    Where the number of records is private, `n` is the one that all releases are really about, and the prior of `"n"`
    what is believed of it (flat, if it is left out); without `n` each release draws its own from that prior. The table
    has a row for `n` too, and `ClassicalRatio(channel)` says what a noisy sum over a noisy count would have said.

    >>> import confide as cf, numpyro.distributions as dist
    >>> from confide.design import study
    >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Gaussian(cf.GDP(1.0)), n=100)
    >>> prior = {"variance": dist.LogNormal(0.5, 0.5)}
    >>> found = study(cf.populations.normal_variance(), {"abs": channel}, prior=prior, theta=2.0, releases=100,
    ...               route="normal")
    >>> bool(0.1 < found.table["mse"][0] < 0.3)
    True
    """
    if not isinstance(population, Population):
        raise InvalidArgument("population", population, "is not a population", "use populations.normal_variance()")
    numbers, alone = Numbers.of(prior, n)
    believed = Prior.of(population, alone)
    named = _strategies(strategies, population, believed)
    count = check_count(releases)
    truths = _truths(population, theta)
    check_executor(executor)
    random, store = as_key(key), StudyCache(path)
    cells = _cells(named, privacy, truths, believed, numbers)
    settings = assumed(population, believed) | {
        "releases": count,
        "key": np.asarray(jax.random.key_data(random)).tolist(),
        "route": route if isinstance(route, str) else repr(route),
        "probs": PROBS,
    }
    texts = [_described(cell, settings, store) for _, cell in cells]
    known = {text: store.read(text) for text in dict.fromkeys(texts)}
    missing = [text for text, numbers in known.items() if numbers is None]
    at = {text: cell for text, (_, cell) in zip(texts, cells, strict=True)}
    # the randomness of a cell is its own, whatever other cells there are, and wherever it is computed
    tasks = [(at[text], zlib.crc32(text.encode())) for text in missing]
    shared = (population, believed, count, *key_as_numbers(random), route)
    with store.interruptible():
        for place, numbers in computed(_simulated, shared, tasks, executor, "study"):
            known[missing[place]] = numbers
            store.write(missing[place], numbers)
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for text, (name, cell) in zip(texts, cells, strict=True):
        told: Mapping[str, Any] = known[text] or {}
        rows += _rows(name, cell, population, count, told)
        notes += [f"{name}, {cell.strategy.guarantee}: {note}" for note in told.get("notes", [])]
    return Study(_frame(rows), len(missing), len(cells) - len(missing), tuple(dict.fromkeys(notes)))


def _described(cell: StudyCell, shared: Mapping[str, Any], store: StudyCache) -> str:
    """What the numbers of a cell depend on."""
    if store.folder is not None:
        require_text(cell.strategy)
    private = {} if cell.numbers is None else cell.numbers.described()
    return describe(cell.strategy, shared, {"theta": None if cell.theta is None else cell.theta.tolist()} | private)


def _simulated(
    population: Population,
    prior: Prior,
    count: int,
    implementation: str,
    key: NDArray[np.uint32],
    route: str | Route,
    cell: StudyCell,
    own: int,
) -> dict[str, Any]:
    """One cell, in whatever process."""
    random = jax.random.fold_in(key_of_numbers(implementation, key), jnp.uint32(own))
    return simulate(cell, population, prior, count, random, route)


def _strategies(strategies: object, population: Population, prior: Prior) -> dict[str, Strategy]:
    remedy = "give a dictionary of names and channels (or plans by pilot or adapt, or a ClassicalRatio)"
    if not isinstance(strategies, Mapping) or not strategies:
        raise InvalidArgument("strategies", strategies, "names nothing to study", remedy)
    for name, each in strategies.items():
        if not isinstance(each, Strategy):
            raise InvalidArgument(f"strategies[{name!r}]", each, "is neither a channel nor a plan", remedy)
        if isinstance(each, Pilot | Adaptive) and each.population != population:
            raise InvalidArgument(f"strategies[{name!r}]", each, "is a plan for another population", remedy)
        if isinstance(each, Adaptive) and not (each.local and np.array_equal(each.prior.probes, prior.probes)):
            problem = "is not a plan for persons asked one by one, with the study's own prior"
            raise InvalidArgument(f"strategies[{name!r}]", each, problem, "give a pilot for records published together")
        if isinstance(each, Pilot) and each.candidates is None:
            problem = "leaves the choice to a search, which is too slow for thousands of releases"
            raise InvalidArgument(f"strategies[{name!r}]", each, problem, "give the plan its candidates")
    return {str(name): each for name, each in strategies.items()}


def _truths(population: Population, theta: Any) -> list[Floats | None]:
    if theta is None:
        return [None]
    grid = np.asarray(population.theta(theta)).reshape(-1, population.dimension)
    if len(grid) == 0:
        raise InvalidArgument("theta", theta, "is empty", "give at least one true value, or leave it out")
    return list(grid)


def _cells(
    named: Mapping[str, Strategy],
    privacy: Sequence[Privacy | float] | None,
    truths: list[Floats | None],
    prior: Prior,
    numbers: Numbers,
) -> list[tuple[str, StudyCell]]:
    if privacy is not None and (isinstance(privacy, str | Privacy) or len(privacy) == 0):
        raise InvalidArgument("privacy", privacy, "is not a list of levels", "give a list such as [GDP(0.5), GDP(1.0)]")
    at = [prior_points(prior) if truth is None else Points(truth[None], np.ones(1)) for truth in truths]
    if any(map(_is_private, named.values())):
        numbers.require()
    elif numbers.n is not None or numbers.prior.proper:
        problem = "is given, though all channels make the number of records public"
        raise InvalidArgument("n", numbers.n, problem, "leave it out, and out of the prior")
    cells = []
    for name, strategy in named.items():
        for level in [None] if privacy is None else privacy:
            if level is None:
                changed = strategy
            elif not isinstance(strategy, Channel):
                changed = strategy.with_privacy(level)
            else:
                changed = with_privacy(strategy, level)
            own = numbers if _is_private(changed) else None
            cells += [(name, StudyCell(changed, truth, points, own)) for truth, points in zip(truths, at, strict=True)]
    return cells


def _is_private(strategy: Strategy) -> bool:
    """Whether the number of records is not known to who reads the release."""
    return isinstance(strategy, ClassicalRatio) or (isinstance(strategy, Channel) and strategy.n is None)


def _rows(
    name: str, cell: StudyCell, population: Population, releases: int, numbers: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """A row per parameter."""
    labels = [
        part.name if not part.vector else f"{part.name}[{i}]" for part in population.space for i in range(part.size)
    ]
    truth = cell.theta
    if cell.numbers is not None:
        labels.append(NAME)
        known = float("nan") if cell.numbers.n is None else float(cell.numbers.n)
        truth = np.append(np.full(population.dimension, np.nan) if truth is None else truth, known)
    guarantee = cell.strategy.guarantee
    rows = []
    for j, label in enumerate(labels):
        row: dict[str, Any] = {
            "strategy": name,
            "privacy": str(guarantee),
            "level": level_of(guarantee),
            "parameter": label,
            "theta": float("nan") if truth is None else float(truth[j]),
            "releases": releases,
        }
        row |= {column: values[j] for column, values in numbers["each"].items()}
        rows.append(row | {"choice": numbers["choice"]})
    return rows


def _frame(rows: list[dict[str, Any]]) -> Any:
    import pandas as pd

    return pd.DataFrame(rows)
