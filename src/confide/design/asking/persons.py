"""Persons asked one by one: the local model, where everybody publishes an answer with noise of their own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide._precision import float64
from confide.channel import Channel
from confide.design.asking.answering import NODES, Answerer, answerer, check, knots, log_answer
from confide.design.asking.deciding import Weighing
from confide.design.asking.knowing import posterior_on
from confide.design.asking.mesh import Mesh, moments
from confide.design.asking.running import (
    AskedRuns,
    Program,
    anew,
    begun,
    in_detail,
    learned,
    next_question,
    remeshed,
    simulated,
)
from confide.design.families import EachClip, Threshold
from confide.design.search.family import Family, ordered
from confide.errors import AccuracyError, IncompatibleError, InvalidArgument
from confide.mechanism import Gaussian, Laplace, RandomizedResponse
from confide.population import Population
from confide.posterior import Posterior
from confide.prior import Prior
from confide.privacy import Privacy
from confide.published import Release
from confide.statistic import Each, Statistic

Floats = NDArray[np.float64]

#: what may be asked of one person, unless it is said
FAMILIES: tuple[Family, ...] = (EachClip(), Threshold())
#: nodes of a panel that check the others, how far log p may differ in all, and answers that are looked at
_MORE_NODES, _DIFFERENT, _LOOKED_AT = 14, 1e-5, 50


class Persons:
    """What was asked and answered, and the mesh of the posterior."""

    def __init__(
        self, population: Population, prior: Prior, privacy: Privacy, families: Sequence[Family],
        weights: Floats | None, thompson: bool,
    ) -> None:  # fmt: skip
        check(population)
        if prior.free_dimension > 2 or prior.free_dimension != population.dimension:
            problem = f"has {prior.dimension} parameters"
            raise InvalidArgument("population", population.name, problem, "questions are chosen for one or two")
        names = {each.name for each in families}
        bits, clips = Threshold.name in names, EachClip.name in names
        if not names <= {Threshold.name, EachClip.name} or not names:
            remedy = "give families.EachClip(), families.Threshold() or both"
            raise InvalidArgument("families", families, "cannot be asked of one person", remedy)
        how = answerer(population, privacy)
        if bits and how.keep <= 0.5:
            raise InvalidArgument("privacy", privacy, "is not one of randomized response", "give families.EachClip()")
        self.privacy, self.prior = privacy, prior
        chosen = np.full(population.dimension, np.nan) if weights is None else weights
        with jax.enable_x64(True):
            self.program = Program.of(how, prior, Weighing(chosen, 1.0, bits, clips, thompson))
            self.mesh = begun(prior)
        self.answers: Floats = np.zeros(0)
        self.questions: Floats = np.zeros((0, 3))

    @float64
    def channel(self, n: int, uniform: float) -> Channel:
        """What is asked of the next n persons, with numbers rounded to what people read."""
        bit, low, high = (float(each) for each in next_question(self.program, self.mesh, n, uniform))
        low, high = ordered(low, high)
        if bit:
            middle, step = low, high - low
            return Channel(
                Each(f"x > {middle:.12g}", bounds=(middle - step, high)), RandomizedResponse(self.privacy), n
            )
        return self.with_noise(Each("x", bounds=(low, high)), n)

    def with_noise(self, statistic: Statistic, n: int) -> Channel:
        """A clip, with noise for the guarantee."""
        return Channel(statistic, (Laplace if self.program.how.laplace else Gaussian)(self.privacy), n)

    @float64
    def learn(self, release: Release) -> None:
        """Take note of some answers."""
        channel, values = release.channel, np.ravel(np.asarray(release.value, dtype=float))
        low, high = channel.statistic.bounds
        question = [0.0, low, high] if channel.law.answers is None else [1.0, _threshold(channel), high]
        before = len(self.answers)
        questions = np.tile(question, (len(values), 1))
        self.answers = np.concatenate([self.answers, values])
        self.questions = np.concatenate([self.questions, questions])
        if any(remeshed(count) for count in range(before + 1, len(self.answers) + 1)):
            self.mesh = anew(self.program, self.mesh, self.answers, self.questions)
        else:
            self.mesh = learned(self.program, self.mesh, values, questions)

    @float64
    def moments(self) -> tuple[Floats, Floats]:
        """The posterior mean and standard deviations on the mesh: what the next question is chosen by."""
        mean, covariance = moments(self.prior, Mesh(*self.mesh))
        return np.asarray(mean), np.sqrt(np.diagonal(covariance))

    @float64
    def posterior(self, releases: Sequence[Release], key: Any) -> Posterior:
        """The posterior by quadrature, of all answers."""
        del releases
        mesh = in_detail(self.program, self.mesh, self.answers, self.questions)
        found = posterior_on(mesh, self.prior, key)
        self._check_nodes(np.asarray(found.theta).reshape(-1, self.prior.dimension)[:_LOOKED_AT])
        return found

    def _check_nodes(self, thetas: Floats) -> None:
        """Refuse a law that panels do not resolve, by more nodes at some of the θ that carry weight."""
        how, each = self.program.how, (self.answers, self.questions, len(self.answers))
        fixed, given = (how.population, how.laplace), (how.ratio, how.keep)
        few, more = (np.asarray(_of_answers((*fixed, nodes), given, thetas, *each)) for nodes in (NODES, _MORE_NODES))
        if np.ptp(more - few) > _DIFFERENT:
            raise AccuracyError(
                f"the density of answers of {how.population.name} is not resolved: more nodes move the log-likelihood "
                f"by {np.ptp(more - few):.1g}; give batches of more records, which are published together"
            )

    @float64
    def simulated(
        self, truth: Floats, batches: Sequence[int], key: Any, probs: tuple[float, ...], question: Any = None
    ) -> AskedRuns:
        """Whole runs at true θ (R, d)."""
        return simulated(self.program, truth, np.asarray(batches, dtype=int), key, probs, question)


def _threshold(channel: Channel) -> float:
    """Where a bit changes: the end of a piece of the statistic between its bounds."""
    from confide.likelihood.record_law.pieces import pieces_of

    inner = [
        end
        for end in pieces_of(channel.statistic).ends
        if channel.statistic.bounds[0] < end < channel.statistic.bounds[1]
    ]
    if len(inner) != 1:
        raise IncompatibleError(f"{channel.statistic} is not one threshold; give releases through the plan's channels")
    return float(inner[0])


@partial(jax.jit, static_argnums=0)
def _of_answers(
    fixed: Any, given: Any, thetas: jax.Array, answers: jax.Array, questions: jax.Array, count: jax.Array
) -> jax.Array:
    """Σ log p(answer | θ) of the first `count` answers, at all θ (M, d)."""
    population, laplace, nodes = fixed
    how, ends = Answerer(population, laplace, *given), knots(population, thetas)

    def one(i: jax.Array, total: jax.Array) -> jax.Array:
        return total + log_answer(how, thetas, ends, answers[i], questions[i], nodes)

    return jax.lax.fori_loop(0, count, one, jnp.zeros(len(thetas)))
