"""`compare`: which of several channels says the most about θ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from confide._call import remembered
from confide._precision import float64
from confide.design.comparing.comparison import Comparison
from confide.design.criteria import find_criterion
from confide.design.currency import require_equal
from confide.design.evaluate import evaluate
from confide.design.points import points
from confide.errors import InvalidArgument
from confide.model import Model
from confide.statistic.columns import ColumnBounds


@remembered
@float64
def compare(
    models: Mapping[str, Model] | Sequence[Model],
    *,
    theta: Any = None,
    prior: Any = None,
    criterion: str = "expected_variance",
    unequal: bool = False,
    delta: float | None = None,
    method: str = "auto",
    key: Any = 0,
    n: int | None = None,
) -> Comparison:
    """Which of several channels, at one guarantee, says the most about θ.

    Give either `theta`, one value or a grid (all weighing the same), or a `prior` to average over. `criterion` ranks:
    "expected_variance" (∫ tr (F + J)⁻¹ η with J what the prior knows by itself: what mean squared error follows),
    "information" (∫ tr F η, the paper's), "log_det" or "minimum" (the worst case over θ). Channels with different
    guarantees are refused unless `unequal=True`; the table then says what each costs in one currency (in ε at `delta`,
    if one is given).

    Where the number of records is private `n` is the one that is assumed, as in `information`.

    The information is exact where there is an exact route; `method` is passed to `information`. Where it is a Monte
    Carlo estimate, a winner must win by three standard errors, otherwise no difference is shown and `best` is None.

    >>> import confide as cf
    >>> from confide.design import compare
    >>> population, noise = cf.populations.normal_variance(), cf.Gaussian(cf.GDP(1.0))
    >>> def model(s):
    ...     return cf.Model(population, cf.Channel(cf.Mean(s, bounds=(-10, 10)), noise, n=100))
    >>> found = compare({"abs": model("abs(x)"), "square": model("x**2")}, theta=2.0, method="normal")
    >>> found.best, found.dominates("abs", "square")
    ('abs', True)
    >>> found.table["information"].round(3).to_dict()
    {'abs': 4.631, 'square': 0.929}
    """
    named = _named(models)
    ranked = find_criterion(criterion)
    if not unequal:
        require_equal(named)
    at = points(next(iter(named.values())).population, theta, prior)
    found = {name: evaluate(model, at, method, key, n) for name, model in named.items()}
    comparison = Comparison(found, at, ranked, delta, method)
    if not np.any(np.isfinite(comparison.scores[ranked.name])):
        raise InvalidArgument(
            "criterion",
            criterion,
            "diverges for every channel" + (" under this prior" if at.prior else " at these values of theta"),
            f"use {_finite(comparison) or 'another prior'}, or give a prior with lighter tails",
        )
    return comparison


def _finite(comparison: Comparison) -> str:
    """The criteria under which some channel has a finite score."""
    return " or ".join(repr(name) for name, each in comparison.scores.items() if np.any(np.isfinite(each)))


def _named(models: object) -> dict[str, Model]:
    """The models by name; those of a list are named by what they publish."""
    remedy = "give a dictionary of names and models, or a list of models; at least two"
    if isinstance(models, Mapping):
        named = dict(models)
    elif isinstance(models, Sequence) and not isinstance(models, str):
        named = {}
        for each in models:
            name = describe(each) if isinstance(each, Model) else repr(each)
            copies = sum(other == name or other.startswith(f"{name} #") for other in named)
            named[name if copies == 0 else f"{name} #{copies + 1}"] = each
    else:
        raise InvalidArgument("models", models, "is not a collection of models", remedy)
    if len(named) < 2:
        raise InvalidArgument("models", list(named), "leaves nothing to compare", remedy)
    for name, model in named.items():
        if not isinstance(model, Model):
            raise InvalidArgument(f"models[{name!r}]", model, "is not a model", "use Model(population, channel)")
    populations = {model.population for model in named.values()}
    if len(populations) > 1:
        problem = "are about different populations, so their information is about different parameters"
        raise InvalidArgument("models", sorted(map(str, populations)), problem, "compare channels of one population")
    return {str(name): model for name, model in named.items()}


def describe(model: Model) -> str:
    """A short name for a model: its statistic, bounds and mechanism."""
    statistic = model.channel.statistic
    s = ", ".join(str(transform) for transform in statistic.transforms)
    kind = f"{type(statistic).__name__.lower()} {s}"
    if isinstance(statistic.bounds, tuple):
        kind = f"{kind} on [{statistic.bounds[0]:g}, {statistic.bounds[1]:g}]"
    elif statistic.tallies:
        kind = str(statistic).removeprefix("the ")
    elif isinstance(statistic.bounds, ColumnBounds):
        ends = [f"{name} on [{low:g}, {high:g}]" for name, (low, high) in statistic.bounds.numbers.items()]
        kind = ", ".join([kind, *ends])
    return f"{kind}, {type(model.channel.mechanism).__name__}"
