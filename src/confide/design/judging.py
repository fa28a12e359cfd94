"""The leaders of a search by their exact information: nothing else crowns a winner.

A search looks at an approximation. Its leaders are judged one after another, until the next is too far behind to win
if its approximation were off by as much as those of the judged were, and a little more. A candidate that no exact
route serves, or whose figure cannot be true, is dropped: it stays in the table, behind all others, with the reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from confide._progress import progress
from confide.design.criteria import Criterion
from confide.design.evaluate import evaluate
from confide.design.optimum import Candidate
from confide.design.search.problem import SearchProblem
from confide.errors import AccuracyError, IncompatibleError
from confide.likelihood.record_law.rows.points import why_not_exact
from confide.model import Model

#: how far an approximation may be off, unless shown otherwise: a share, and one of 1/n; for means, and for the rest
_DOUBT_MEAN, _DOUBT = (0.01, 0.5), (0.1, 3.0)
_MOST = 12
#: shares of the records' own information beyond which a figure is false
_WHOLE = 1.0 + 1e-6


def judge(candidates: list[Candidate], problem: SearchProblem, key: Any) -> list[Candidate]:
    """The candidates ranked: the best by an exact figure first, those without one, though asked for, last."""
    criterion = problem.criterion
    waiting = ranked(candidates, criterion)
    judged: list[Candidate] = []
    best, off = np.inf, {True: 0.0, False: 0.0}
    for _ in progress(range(min(_MOST, len(waiting))), "exact information of the leaders"):
        mean = waiting[0].channel.statistic.averages or problem.private
        share, few = _DOUBT_MEAN if mean else _DOUBT
        if _behind(waiting[0].loss(criterion), best, share + few / problem.n + off[mean], criterion):
            break
        each = _judged(waiting.pop(0), problem, key)
        judged.append(each)
        if not each.reason:
            best = min(best, each.loss(criterion))
            off[mean] = max(off[mean], each.off(criterion))
    winners = ranked([each for each in judged if not each.reason], criterion)[:1]
    followers = [each for each in judged if not each.reason and each is not winners[0]] + (waiting if winners else [])
    dropped = [each for each in judged if each.reason] + ([] if winners else waiting)
    return winners + ranked(followers, criterion) + ranked(dropped, criterion)


def ranked(candidates: list[Candidate], criterion: Criterion) -> list[Candidate]:
    """In the order of the best figure that there is of each."""
    return sorted(candidates, key=lambda each: each.loss(criterion))


def _behind(loss: float, best: float, doubt: float, criterion: Criterion) -> bool:
    """Whether a candidate would still lose if its approximation were too low by that share."""
    if criterion.name == "log_det":
        return loss - doubt > best
    return loss / (1 + doubt) > best if criterion.smaller else loss * (1 + doubt) > best


def _judged(each: Candidate, problem: SearchProblem, key: Any) -> Candidate:
    """The candidate with its exact information, or with the reason why it has none."""
    statistic, noise = each.channel.statistic, each.channel.law.added
    rows = problem.law.population.rows is not None
    if not rows and statistic.averages and statistic.dimension > 1 and noise is not None and noise.exponential:
        return each.dropped("no exact route serves several numbers with Laplace noise")
    try:
        found = evaluate(Model(problem.law.population, each.channel), problem.law.points, "auto", key, problem.n)
    except (AccuracyError, IncompatibleError) as error:
        return each.dropped(str(error))
    # of vectors of rows, of many columns, and where n is private, the normal law is all that there is
    sampled = rows and why_not_exact(problem.law.population, statistic) is not None
    if not (found.information.exact or problem.private or sampled or (rows and statistic.dimension > 1)):
        return each.judged(found).dropped("no exact route reaches its accuracy")
    share = found.information.efficiency
    if share is not None and np.any(np.asarray(share) > _WHOLE + 3 * _relative_error(found.information)):
        return each.dropped("its computed information exceeds that of the records, which cannot be")
    return each.judged(found)


def _relative_error(information: Any) -> float:
    size = np.einsum("mii->m", information.matrix)
    spread = np.einsum("mii->m", information.standard_error)
    return float(np.max(np.where(size > 0, spread / np.where(size > 0, size, 1.0), 0.0)))
