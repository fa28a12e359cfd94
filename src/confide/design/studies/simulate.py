"""One cell of a study: simulated releases, their posteriors, and how these err."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from confide.channel import Channel
from confide.design.adaptive.plan import Adaptive
from confide.design.evaluate import Evaluation, by_moments, evaluate
from confide.design.points import Points
from confide.design.studies.numbers import Numbers, answers, published
from confide.design.studies.piloting import Pilot
from confide.design.studies.ratio import ClassicalRatio
from confide.errors import ConfideError
from confide.inference.batch import many_posteriors
from confide.inference.summaries import Summaries
from confide.information.result import Information
from confide.likelihood import Route
from confide.model import Model
from confide.population import Population
from confide.prior import Prior

Floats = NDArray[np.float64]

#: the central intervals whose coverage is reported
PROBS = (0.5, 0.9, 0.95)


@dataclass(frozen=True, eq=False)
class StudyCell:
    """A strategy at one level of privacy, and a true θ; None draws one from the prior for every release.

    `points` are where the information is taken to predict the error: θ, or a rule over the prior.
    """

    strategy: Channel | Pilot | Adaptive | ClassicalRatio
    theta: Floats | None
    points: Points
    #: how many records there are, where that is private
    numbers: Numbers | None = None


def simulate(
    cell: StudyCell, population: Population, prior: Prior, releases: int, key: jax.Array, route: str | Route
) -> dict[str, Any]:
    """The numbers of a cell, ready for a file: lists with an entry per parameter, what a pilot chose, what to say."""
    for_truth, for_first, for_second = jax.random.split(key, 3)
    if cell.theta is None:
        truth = np.asarray(prior.sample(for_truth, (releases,)))
    else:
        truth = np.broadcast_to(cell.theta, (releases, population.dimension))
    strategy = cell.strategy
    if cell.numbers is not None:
        return _private(cell, cell.numbers, population, prior, truth, for_first, for_second, route)
    if isinstance(strategy, Adaptive):
        return _asked(strategy, truth, for_first)
    assert not isinstance(strategy, ClassicalRatio)
    first = strategy if isinstance(strategy, Channel) else strategy.channel
    model = Model(population, first)
    values = _draw(model, for_first, truth, cell.theta is None)
    if isinstance(strategy, Channel):
        found, choice = many_posteriors([model], [values], prior, probs=PROBS, route=route), ""
    else:
        found, choice = _in_two(strategy, model, values, for_second, truth, route)
    predicted = _predicted(model, cell.points) if isinstance(strategy, Channel) else None
    return {"each": _errors(found, truth, predicted), "choice": choice, "notes": list(found.notes)}


def _asked(plan: Adaptive, truth: Floats, key: jax.Array) -> dict[str, Any]:
    """Whole runs of persons asked one by one."""
    runs = plan.simulated(truth, key, PROBS)
    found = Summaries(runs.mean[:, -1], runs.sd[:, -1], runs.lower, runs.upper)
    choice = f"a bit ({np.mean(runs.questions[..., 0]):.0%}) or a clip"
    return {"each": _errors(found, truth, None), "choice": choice, "notes": []}


def _private(
    cell: StudyCell,
    numbers: Numbers,
    population: Population,
    prior: Prior,
    truth: Floats,
    for_first: jax.Array,
    for_second: jax.Array,
    route: str | Route,
) -> dict[str, Any]:
    """Of a private number of records, which is one more unknown."""
    strategy = cell.strategy
    ratio = isinstance(strategy, ClassicalRatio)
    assert isinstance(strategy, Channel | ClassicalRatio)
    channel = strategy if isinstance(strategy, Channel) else strategy.channel
    model, (for_numbers, for_values) = Model(population, channel), jax.random.split(for_first)
    many = numbers.drawn(for_numbers, len(truth))
    values = published(model, for_values, truth, many)
    # a model of numbers calls the column of a table x
    asked = strategy if ratio else model.channel
    found = answers(asked, population, values, prior, numbers, for_second, probs=PROBS, route=route)
    predicted = None if ratio else _predicted(model, cell.points, numbers.typical)
    if predicted is not None:
        predicted = np.append(predicted, np.nan)
    none = float(np.mean(np.isnan(found.mean).any(axis=1)))
    said = f"{none:.1%} without an answer" if ratio else ""
    both = np.column_stack([truth, many])
    return {"each": _errors(found, both, predicted), "choice": said, "notes": list(found.notes)}


def _draw(model: Model, key: jax.Array, truth: Floats, varies: bool) -> Floats:
    """A published value for each true θ."""
    if varies or len(truth) == 0:
        return np.asarray(model.simulate(key, truth))
    return np.asarray(model.simulate(key, truth[0], (len(truth),)))


def _in_two(
    plan: Pilot, model: Model, values: Floats, key: jax.Array, truth: Floats, route: str | Route
) -> tuple[Summaries, str]:
    """A pilot's second releases, those with one choice together, and the posteriors from both."""
    chosen = plan._chosen(values, route)
    counts = Counter(chosen)
    parts: list[tuple[NDArray[np.intp], Summaries]] = []
    for i, channel in enumerate(dict.fromkeys(chosen)):
        index = np.flatnonzero([each == channel for each in chosen])
        second = Model(plan.population, channel)
        more = np.asarray(second.simulate(jax.random.fold_in(key, i), truth[index]))
        found = many_posteriors([model, second], [values[index], more], plan.prior, probs=PROBS, route=route)
        parts.append((index, found))
    order = np.argsort(np.concatenate([index for index, _ in parts]))
    columns: dict[str, Any] = {
        name: np.concatenate([np.asarray(getattr(found, name)) for _, found in parts], axis=axis).take(order, axis=axis)
        for name, axis in (("mean", 0), ("sd", 0), ("lower", 1), ("upper", 1))
    }
    notes = tuple(dict.fromkeys(note for _, found in parts for note in found.notes))
    joined = Summaries(**columns)._replace(notes=notes)
    most, times = counts.most_common(1)[0]
    return joined, f"{most.statistic} ({times / len(values):.0%})"


def _predicted(model: Model, points: Points, n: int | None = None) -> Floats | None:
    """The variance of each parameter that the Fisher information predicts; None where it is not to be had."""
    found = by_moments_alone(model, points)
    try:
        return np.asarray(evaluate(model, points, "auto", 0, n).deviations() ** 2) if found is None else found
    except ConfideError:
        return None


def by_moments_alone(model: Model, points: Points) -> Floats | None:
    """The same, as far as moments of the statistic tell it, which takes milliseconds."""
    matrices = by_moments(model, points)
    if matrices is None:
        return None
    told = Information(points.thetas, matrices, np.zeros_like(matrices), "moments", None, (), False)
    return np.asarray(Evaluation(model, points, told).deviations() ** 2)


def _errors(found: Summaries, truth: Floats, predicted: Floats | None) -> dict[str, list[float]]:
    """Errors, coverage and widths of all parameters, with standard errors."""
    mean, sd = np.asarray(found.mean), np.asarray(found.sd)
    lower, upper = np.asarray(found.lower), np.asarray(found.upper)
    error = mean - truth
    root = np.sqrt(max(len(truth), 2))
    numbers: dict[str, Any] = {
        "mse": np.mean(error**2, axis=0),
        "mse_se": np.std(error**2, axis=0, ddof=1) / root if len(truth) > 1 else np.full(error.shape[1], np.nan),
        "bias": np.mean(error, axis=0),
        "bias_se": np.std(error, axis=0, ddof=1) / root if len(truth) > 1 else np.full(error.shape[1], np.nan),
        "posterior_variance": np.mean(sd**2, axis=0),
        "predicted_variance": np.full(error.shape[1], np.nan) if predicted is None else predicted,
    }
    for prob, low, high in zip(PROBS, lower, upper, strict=True):
        numbers[f"coverage_{prob * 100:g}"] = np.mean((low <= truth) & (truth <= high), axis=0)
        numbers[f"width_{prob * 100:g}"] = np.mean(high - low, axis=0)
    return {name: [float(value) for value in np.ravel(values)] for name, values in numbers.items()}
