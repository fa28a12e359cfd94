"""Why a channel wins, in a paragraph: noise, clipping, and the price of privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from confide.design.search.family import from_statistics
from confide.mechanism import Noiseless

if TYPE_CHECKING:
    from confide.design.optimum import Candidate, Optimum
    from confide.design.search.problem import SearchProblem

Floats = NDArray[np.float64]


def explain(optimum: Optimum) -> str:
    """The paragraph."""
    problem, winner = optimum.problem, optimum.candidates[0]
    at = problem.law.reference
    names = problem.law.population.names
    theta = problem.law.points.thetas[at]
    where = ", ".join(f"{name} = {value:.4g}" for name, value in zip(_labels(names, theta), theta, strict=True))
    chosen = f"{winner.channel.statistic} with {winner.channel.law.description}"
    if len(problem.law.points.thetas) == 1:
        sentences = [f"At {where}, {chosen} says the most: {_told(winner, problem, at)}"]
    else:
        sentences = [f"{_over(problem)}, {chosen} is the best by {_words(problem)}."]
        sentences.append(f"At {where}, in the middle of these, it has {_told(winner, problem, at)}")
    statistic = winner.channel.statistic
    if statistic.averages and statistic.dimension == 1 and problem.law.population.rows is None:
        sentences.append(_noise_and_clipping(winner, problem, at))
    rivals = [each for each in optimum.candidates[1:] if each.family != winner.family and not each.reason]
    if rivals:
        share = optimum.table["share of best"].iloc[optimum.candidates.index(rivals[0])]
        rival = rivals[0].channel
        sentences.append(
            f"The next best family, {rivals[0].family} ({rival.statistic}, {type(rival.mechanism).__name__}), "
            f"is worth {share:.1%} of it by {_words(problem)}."
        )
    return " ".join(sentences)


def _over(problem: SearchProblem) -> str:
    """All that θ may be, in words."""
    points = problem.law.points
    values = "the prior" if points.prior else f"{len(points.thetas)} values of theta"
    return f"In the worst case of {values}" if problem.criterion.name == "minimum" else f"Averaged over {values}"


def _words(problem: SearchProblem) -> str:
    return problem.criterion.name.replace("_", " ")


def _labels(names: tuple[str, ...], theta: Floats) -> list[str]:
    return list(names) if len(names) == len(theta) else [f"theta[{i}]" for i in range(len(theta))]


def _told(winner: Candidate, problem: SearchProblem, at: int) -> str:
    information = winner.evaluation.information
    matrix = information.matrix[at]
    of = "a Fisher information" if matrix.shape == (1, 1) else "Fisher information with a trace"
    size = f"{of} of {np.trace(matrix):.4g}"
    kind = "exact" if winner.is_exact else "by an approximation"
    if information.efficiency is None:
        return f"{size} ({kind})."
    share = float(np.ravel(information.efficiency)[at])
    return f"{size} ({kind}), {share:.1%} of what the {problem.n:,} records themselves say."


def _noise_and_clipping(winner: Candidate, problem: SearchProblem, at: int) -> str:
    """How large the noise is beside the sampling error, how much is clipped, and what each costs."""
    law, statistic = problem.law, winner.channel.statistic
    values = from_statistics(law, [statistic])
    mean, _ = law.means(np.concatenate([values.s[0], values.s[0] ** 2]))
    sampling = float(np.sqrt(max(mean[at, 1] - mean[at, 0] ** 2, 0.0) / problem.n))
    ends = np.isclose(values.s[0, 0], values.low[0, 0]) | np.isclose(values.s[0, 0], values.high[0, 0])
    clipped = float(law.mass[at] @ ends)
    without = problem.mean_information(values, Noiseless)[0, at]
    private = float(np.trace(winner.approximate.information.matrix[at]))
    noise = winner.channel.law.added
    variance = 0.0 if noise is None else float(noise.variance)
    text = (
        f"Its noise has standard deviation {np.sqrt(variance):.3g}, against a sampling error of {sampling:.3g}, "
        f"because one record can move it by no more than {(values.high - values.low)[0, 0] / problem.n:.3g}; "
        f"{clipped:.1%} of the assumed population lies at the ends of its range or beyond them."
    )
    whole = None if law.population.moving else problem.n * np.asarray(law.population.fisher(law.points.thetas[at]))
    if whole is not None and len(whole) == 1:
        kept, total = float(without[0, 0]), float(whole[0, 0])
        text += (
            f" Without noise this statistic would say {min(kept / total, 1.0):.1%} of what the records say: choosing "
            f"and clipping it costs {max(1 - kept / total, 0.0):.1%}, and the noise takes "
            f"{max(1 - private / kept, 0.0):.1%} of the rest (by a normal approximation)."
        )
    return text
