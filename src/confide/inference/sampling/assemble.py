"""From a problem and what is latent in it to a target, and the run of a kernel on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from confide._checks import whole
from confide.errors import IncompatibleError, InvalidArgument
from confide.inference.diagnostics import diagnose
from confide.inference.kernel import CorrelatedPseudoMarginal, Kernel, PseudoMarginal
from confide.inference.kernel.proposal import Walk
from confide.inference.method import Lengths
from confide.inference.problem import Problem
from confide.inference.sampling.longer import times
from confide.inference.sampling.run import Trace, interrupted, run
from confide.inference.sampling.start import states_at, tries
from confide.inference.target import (
    ConditionalTarget,
    EachTarget,
    MarginalTarget,
    ProductTarget,
    RecordsTarget,
    StatisticTarget,
    Target,
)
from confide.inference.target.normal_table import normal_table
from confide.inference.target.statistic import has_conditional
from confide.inference.target.tabulated import TabulatedTarget, is_costly
from confide.inference.target.window import WindowTarget, why_no_window
from confide.likelihood.joint_law import Joint
from confide.model import Model
from confide.posterior import Posterior
from confide.prior import free_of

LATENTS = ("u", "z")
CENTRES = ("midpoint", "maximum")


@dataclass(frozen=True, kw_only=True)
class Latents:
    """What is latent, and how its copies are drawn.

    `latent` is "u" (the normal approximation of a mean) or "z" (the records' noise, exact; also the default);
    `subset` redraws so many records at a time; `centre` is where the copies of u are drawn around, `conditional` draws
    u given y where its law is known; `anchored` draws windows of ranks around the published value.
    """

    latent: str | None = None
    subset: int | None = None
    centre: str = "midpoint"
    conditional: bool = False
    anchored: bool = True

    def __post_init__(self) -> None:
        if self.latent is not None and self.latent not in LATENTS:
            raise InvalidArgument("latent", self.latent, "is not a latent", 'use "u" (normal mean) or "z" (exact)')
        if self.centre not in CENTRES:
            raise InvalidArgument("centre", self.centre, "is not a centre", f"use one of {', '.join(CENTRES)}")


def sampled(
    problem: Problem,
    method: str,
    what: str,
    kernel: Kernel,
    target: Target,
    walk: Walk | None,
    key: jax.Array,
    lengths: Lengths,
) -> Posterior:
    """Draws by a kernel from a target; `what` says what is latent in it, or by which route."""

    def named_draws(theta: np.ndarray) -> dict[str, np.ndarray]:
        return {name: np.asarray(part) for name, part in problem.prior.by_name(theta).items()}

    trace = run(kernel, target, key, lengths, walk, lambda theta: times(named_draws(theta), lengths.most))
    named = named_draws(trace.theta)
    variance = _estimate_variance(kernel, target, key, trace)
    diagnostics = diagnose(named, float(trace.accepted.mean()), variance, _notes(trace))
    return Posterior(named, method, what, diagnostics, problem.prior, None, trace.complete)


def marginal_target(problem: Problem, joint: Joint) -> Target:
    """p(y | θ) itself, tabulated where that pays."""
    if problem.prior.free_dimension == 1 and is_costly(joint):
        return TabulatedTarget.of(joint, problem.values, problem.prior)
    return MarginalTarget(problem.prior, joint, _on_device(problem.values))


def _on_device(values: tuple[Any, ...]) -> tuple[jax.Array, ...]:
    return tuple(jax.device_put(np.asarray(value)) for value in values)


def make_target(problem: Problem, latents: Latents) -> tuple[Target, str]:
    """The target of a problem, and what is latent in it."""
    values = _on_device(problem.values)
    if any(channel.law.noiseless for channel in problem.channels):
        raise IncompatibleError("without noise p(y | records) has no density; use method='grid' or method='mh'")
    if problem.same_records:
        if latents.latent == "u":
            raise IncompatibleError("releases of the same records share z, not u; use latent='z'")
        subset = _subset(latents, problem.channels[0].n)
        return RecordsTarget(problem.prior, problem.population, problem.channels, values, subset), "z"
    parts = [_one(problem, model, value, latents) for model, value in zip(problem.models, values, strict=True)]
    if len(parts) == 1:
        return parts[0]
    blocks = tuple(
        model.channel.n if isinstance(t, EachTarget) else 1 for model, (t, _) in zip(problem.models, parts, strict=True)
    )
    targets = tuple(target for target, _ in parts)
    return ProductTarget(problem.prior, targets, blocks), " + ".join(dict.fromkeys(what for _, what in parts))


def _one(problem: Problem, model: Model, value: jax.Array, latents: Latents) -> tuple[Target, str]:
    channel = model.channel
    if latents.latent == "u":
        if not channel.statistic.averages:
            raise IncompatibleError("latent='u' is the normal approximation of a Mean; use latent='z'")
        if latents.subset is not None:
            raise InvalidArgument("subset", latents.subset, "is of no use with latent='u'", "leave it out")
        if latents.conditional and not has_conditional(model):
            raise IncompatibleError("p(u | y, theta) is known for a scalar mean with Laplace or Gaussian noise only")
        chosen = ConditionalTarget if latents.conditional else StatisticTarget
        # of several releases each would say no more than where its own posterior lies
        table = normal_table(model, value, problem.prior) if len(problem.models) == 1 else None
        return chosen(problem.prior, model, value, latents.centre, table), "u"
    if channel.statistic.per_record:
        if latents.subset is not None:
            raise InvalidArgument("subset", latents.subset, "is of no use with one value per record", "leave it out")
        return EachTarget(problem.prior, model, value), "z, a block per record"
    if channel.statistic.ranked and latents.subset is None and why_no_window(model) is None:
        return WindowTarget.of(problem.prior, model, value, latents.anchored), "z, a window of ranks"
    subset = _subset(latents, channel.n)
    return RecordsTarget(problem.prior, model.population, (channel,), (value,), subset), "z"


def _subset(latents: Latents, n: int) -> int | None:
    if latents.subset is None:
        return None
    subset = whole("subset", latents.subset, 1, "give the number of records to redraw")
    if subset >= n:
        raise InvalidArgument(
            "subset", subset, f"is not below the number of records, {n}", "leave it out for full mode"
        )
    return subset


def _notes(trace: Trace) -> list[str]:
    notes = interrupted(trace.complete)
    empty = float(trace.empty.mean())
    if empty > 0.05:
        notes.append(f"all weights were zero in {100 * empty:.0f}% of the proposals, which were rejected")
    return notes


def _estimate_variance(kernel: Kernel, target: Target, key: jax.Array, trace: Trace) -> float | None:
    """The variance of log p̂(y | θ) at a central θ, where the kernel carries such an estimate."""
    if not isinstance(kernel, PseudoMarginal | CorrelatedPseudoMarginal):
        return None
    flat = trace.theta.reshape(-1, trace.theta.shape[-1])
    theta = flat[np.argsort(flat[:, 0])[flat.shape[0] // 2]]
    # as many as the starts were, whose compiled program serves
    free = np.tile(free_of(target.prior, theta), (tries(target, trace.theta.shape[0]), 1))
    estimates = np.asarray(states_at(kernel, target, jax.random.fold_in(key, 2), free, 1)[1])
    finite = estimates[np.isfinite(estimates)]
    return float(np.var(finite, ddof=1)) if finite.size > 1 else float("inf")
