"""Whole runs of a plan in one compiled program: decide, ask, answer, learn, for each batch of persons in turn.

The mesh of the posterior is made anew when the number of answers has grown by half, or doubled, from all answers so
far, on the same schedule for a plan of real answers and for simulated ones.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide._compile import FAST_COMPILE
from confide.design.asking.answering import Answerer, drawn_answer, knots, log_answer
from confide.design.asking.deciding import CELLS, Weighing, decide
from confide.design.asking.mesh import Mesh, along, axes, blank, first_mesh, moments, narrowed, thetas_of, told
from confide.design.search.answers import AnswerRule, answer_rule
from confide.prior import Prior

Floats = NDArray[np.float64]

#: numbers of answers after which a mesh is made anew: a noisy search halves the posterior with every few answers at
#: first; later its width falls as 1/√t
REMESHED = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
#: runs that are simulated side by side: beyond, what they share falls out of the processor's memory
_SIDE_BY_SIDE = 16


def remeshed(count: int) -> bool:
    """Whether a mesh is due after so many answers: beyond the list, after each power of two."""
    return count in REMESHED or (count > REMESHED[-1] and count & (count - 1) == 0)


class Program(NamedTuple):
    """All that a run needs but the answers: frozen, and hashable where a program is compiled for it."""

    how: Answerer
    rule: AnswerRule
    prior: Prior
    weighing: Weighing

    @classmethod
    def of(cls, how: Answerer, prior: Prior, weighing: Weighing) -> Program:
        """With the table that decisions need."""
        return cls(how, answer_rule(how.ratio, CELLS, laplace=how.laplace), prior, weighing)


def _split(program: Program) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What a program is compiled for, and the arrays that it is given."""
    how, rule, prior, weighing = program
    fixed = how.population, how.laplace, weighing.bits, weighing.clips, weighing.thompson
    return fixed, (how.ratio, how.keep, tuple(rule), prior, weighing.weights, weighing.batch)


def _joined(fixed: tuple[Any, ...], given: tuple[Any, ...]) -> Program:
    population, laplace, *flags = fixed
    ratio, keep, rule, prior, weights, batch = given
    return Program(
        Answerer(population, laplace, ratio, keep), AnswerRule(*rule), prior, Weighing(weights, batch, *flags)
    )


def next_question(program: Program, mesh: Mesh, batch: int, uniform: float) -> Floats:
    """The question for the next batch."""
    fixed, given = _split(program._replace(weighing=program.weighing._replace(batch=float(batch))))
    return np.asarray(_next(fixed, given, mesh, uniform))


@partial(jax.jit, static_argnums=0)
def _next(fixed: Any, given: Any, mesh: Mesh, uniform: jax.Array) -> jax.Array:
    how, rule, prior, weighing = _joined(fixed, given)
    return decide(how, rule, prior, mesh, weighing, uniform)


def learned(program: Program, mesh: Mesh, answers: Floats, questions: Floats) -> Mesh:
    """The mesh with some answers known besides."""
    fixed, given = _split(program)
    room = 1 << (len(answers) - 1).bit_length()
    padded = np.resize(answers, room), np.resize(questions, (room, 3))
    return Mesh(*map(np.asarray, _learn(fixed, given, mesh, *padded, len(answers))))


@partial(jax.jit, static_argnums=0)
def _learn(fixed: Any, given: Any, mesh: Mesh, answers: jax.Array, questions: jax.Array, count: jax.Array) -> Mesh:
    program = _joined(fixed, given)
    return told(program.how, program.prior, mesh, answers, questions, count)


@partial(jax.jit, static_argnums=0)
def _narrow(fixed: Any, given: Any, mesh: Mesh) -> Mesh:
    return narrowed(_joined(fixed, given).prior, mesh)


def anew(program: Program, mesh: Mesh, answers: Floats, questions: Floats) -> Mesh:
    """A mesh that the posterior fills, from all answers."""
    fixed, given = _split(program)
    return learned(program, Mesh(*map(np.asarray, _narrow(fixed, given, mesh))), answers, questions)


def in_detail(program: Program, mesh: Mesh, answers: Floats, questions: Floats) -> Mesh:
    """All answers on a mesh with twice the points each way."""
    fixed, given = _split(program)
    return learned(program, Mesh(*map(np.asarray, _refine(fixed, given, mesh))), answers, questions)


@partial(jax.jit, static_argnums=0)
def _refine(fixed: Any, given: Any, mesh: Mesh) -> Mesh:
    return blank(_joined(fixed, given).prior, narrowed(_joined(fixed, given).prior, mesh), 2)


def begun(prior: Prior) -> Mesh:
    """The prior's mesh."""
    return Mesh(*map(np.asarray, first_mesh(prior)))


class AskedRuns(NamedTuple):
    """What came of simulated runs: θ that they were of (R, d), posterior means and sd and the questions over time.

    `at` (T,) are the numbers of answers at which `mean` and `sd` (R, T, d) were looked at; `below` (R, d) is the
    posterior probability of less than the true θ in the end, `lower` and `upper` (P, R, d) ends of central intervals.
    """

    truth: Floats
    at: NDArray[np.int64]
    mean: Floats
    sd: Floats
    questions: Floats
    answers: Floats
    below: Floats
    lower: Floats
    upper: Floats


def simulated(
    program: Program,
    truth: Floats,
    batches: NDArray[np.int64],
    key: jax.Array,
    probs: tuple[float, ...],
    fixed: Any = None,
) -> AskedRuns:
    """AskedRuns of a plan, one for each true θ (R, d); with `fixed` (3,) that question is asked of everybody."""
    parts = np.array_split(np.arange(len(truth)), -(-len(truth) // _SIDE_BY_SIDE))
    keys = jax.random.split(key, len(truth))

    def of(part: NDArray[np.intp]) -> list[Floats]:
        # the same shape for all parts, so that they share a program; double precision is a thread's own
        some = np.resize(part, len(parts[0]))
        with jax.enable_x64(True):
            each = _simulate_some(program, truth[some], batches, keys[some], probs, fixed)
        return [np.asarray(column)[: len(part)] for column in each]

    # the first by itself, as it compiles for all; then as many at once as there are cores
    found = [of(parts[0])]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found += pool.map(of, parts[1:])
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    mean, sd, questions, answers, below, lower, upper = columns
    at = np.asarray([stop for _, stop in _segments(batches)])
    return AskedRuns(truth, at, mean, sd, questions, answers, below, np.moveaxis(lower, 1, 0), np.moveaxis(upper, 1, 0))


def _segments(batches: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Between new meshes: the first person and the one after the last."""
    ends = np.cumsum(batches)
    due = [0, *_due(ends)]
    return list(zip(due[:-1], due[1:], strict=True))


def _due(ends: NDArray[np.int64]) -> list[int]:
    """The ends of batches at which a mesh is due: the first at or beyond each number of the schedule."""
    found, before = [], 0
    for end in map(int, ends):
        if any(remeshed(count) for count in range(before + 1, end + 1)):
            found.append(end)
        before = end
    return found if found and found[-1] == ends[-1] else [*found, int(ends[-1])]


def _simulate_some(
    program: Program, truth: Floats, batches: NDArray[np.int64], keys: Any, probs: tuple[float, ...], question: Any
) -> tuple[Any, ...]:
    fixed, given = _split(program)
    total = int(batches.sum())
    records, uniforms = _people(fixed[0], truth, keys, total)
    first = np.concatenate([np.repeat(size, size) for size in batches])
    starts = np.zeros(total, dtype=bool)
    starts[np.concatenate([[0], np.cumsum(batches)[:-1]])] = True
    mesh = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(truth), *np.shape(leaf))), begun(program.prior))
    answers, questions = np.zeros((len(truth), total)), np.zeros((len(truth), total, 3))
    told_what = np.full(3, np.nan) if question is None else np.asarray(question, dtype=float)
    looks = []
    segments = _segments(batches)
    for i, (start, stop) in enumerate(segments):
        people = records, uniforms, starts, first.astype(float), told_what
        mesh, answers, questions = _segment(fixed, given, mesh, answers, questions, people, start, stop, i > 0)
        looks.append(_look(fixed, given, mesh))
    mesh = _again(fixed, given, mesh, answers, questions, total)
    ends = tuple(0.5 - p / 2 for p in probs) + tuple(0.5 + p / 2 for p in probs)
    mean, sd = _look(fixed, given, mesh)
    looks[-1] = mean, sd
    below, quantiles = _marginals(fixed, given, mesh, truth, jnp.asarray(ends))
    means, sds = (jnp.stack(part, axis=1) for part in zip(*looks, strict=True))
    return means, sds, questions, answers, below, quantiles[:, : len(probs)], quantiles[:, len(probs) :]


@partial(jax.jit, static_argnums=(0, 3))
def _people(population: Any, truth: jax.Array, keys: jax.Array, total: int) -> tuple[jax.Array, jax.Array]:
    """Records and uniform numbers: one of a person's own, one for a draw from the posterior (R, n, 2)."""

    def one(theta: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        a, b = jax.random.split(key)
        return population.sample(a, theta, (total,)), jax.random.uniform(b, (total, 2), minval=1e-15)

    return jax.vmap(one)(truth, keys)


@partial(jax.jit, static_argnums=(0, 8), compiler_options=FAST_COMPILE)
def _segment(
    fixed: Any, given: Any, mesh: Mesh, answers: Any, questions: Any, people: Any, start: Any, stop: Any, renew: bool
) -> Any:
    """A mesh made anew, and the persons from `start` to `stop` asked one after the other."""
    how, rule, prior, weighing = _joined(fixed, given)
    records, uniforms, starts, sizes, given_question = people

    def one(mesh: Mesh, answers: Any, questions: Any, records: Any, uniforms: Any) -> Any:
        if renew:
            mesh = told(how, prior, narrowed(prior, mesh), answers, questions, start)
        ends = knots(how.population, thetas_of(prior, mesh))
        thetas = thetas_of(prior, mesh)

        def ask(t: jax.Array, state: Any) -> Any:
            mesh, answers, questions, question = state
            weights = weighing._replace(batch=sizes[t])
            question = jax.lax.cond(
                starts[t] & jnp.isnan(given_question[0]),
                lambda: decide(how, rule, prior, mesh, weights, uniforms[t, 1]),
                lambda: jnp.where(jnp.isnan(given_question[0]), question, given_question),
            )
            answer = drawn_answer(how, question, records[t], uniforms[t, 0])
            more = log_answer(how, thetas, ends, answer, question)
            mesh = mesh._replace(log_density=mesh.log_density + more)
            return mesh, answers.at[t].set(answer), questions.at[t].set(question), question

        begin = questions[jnp.maximum(start - 1, 0)]
        mesh, answers, questions, _ = jax.lax.fori_loop(start, stop, ask, (mesh, answers, questions, begin))
        return mesh, answers, questions

    return jax.vmap(one)(mesh, answers, questions, records, uniforms)


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _again(fixed: Any, given: Any, mesh: Mesh, answers: Any, questions: Any, count: Any) -> Mesh:
    how, _, prior, _ = _joined(fixed, given)
    return jax.vmap(lambda m, a, q: told(how, prior, narrowed(prior, m), a, q, count))(mesh, answers, questions)


@partial(jax.jit, static_argnums=0)
def _look(fixed: Any, given: Any, mesh: Mesh) -> Any:
    prior = _joined(fixed, given).prior

    def one(mesh: Mesh) -> Any:
        mean, covariance = moments(prior, mesh)
        return mean, jnp.sqrt(jnp.diagonal(covariance))

    return jax.vmap(one)(mesh)


@partial(jax.jit, static_argnums=0)
def _marginals(fixed: Any, given: Any, mesh: Mesh, truth: jax.Array, levels: jax.Array) -> Any:
    """P(θ_j < truth) and quantiles, for parameters of which each has a free coordinate of its own."""
    prior = _joined(fixed, given).prior

    def one(mesh: Mesh, truth: jax.Array) -> Any:
        lines = axes(mesh)
        at, ends = [], []
        for i, line in enumerate(lines):
            # a parameter rises or falls with its own free coordinate alone
            free = jnp.stack([jnp.full_like(line, lines[j][0]) if j != i else line for j in range(len(lines))], axis=-1)
            theta, share = prior.constrain(free)[:, i], along(mesh, i)
            cumulative = jnp.cumsum(share) - 0.5 * share
            at.append(jnp.interp(truth[i], theta, cumulative))
            ends.append(jnp.interp(levels, cumulative, theta))
        return jnp.stack(at), jnp.stack(ends, axis=-1)

    return jax.vmap(one)(mesh, truth)
