"""From a problem and options to a kernel and a target, and the run."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import jax
import numpy as np

from confide.errors import IncompatibleError, InvalidArgument
from confide.inference.diagnostics import diagnose
from confide.inference.kernel import Averaged, Correlated, Gibbs, Kernel, Marginal, PseudoMarginal
from confide.inference.problem import Problem
from confide.inference.proposal import Walk, check_walk
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
from confide.likelihood.joint import Joint
from confide.mechanism.noiseless import NoiselessLaw
from confide.model import Model
from confide.posterior import Posterior
from confide.prior import free_of
from confide.statistic import Each, Mean, OrderStatistic

LATENTS = ("u", "z")
CENTRES = ("midpoint", "maximum")


@dataclass(frozen=True)
class Options:
    """What a latent method can be told."""

    latent: str | None = None
    copies: int = 10
    subset: int | None = None
    walk: Walk | None = None
    refresh: bool = True
    centre: str = "midpoint"
    conditional: bool = False
    correlation: float = 0.9
    anchored: bool = True

    def __post_init__(self) -> None:
        if self.latent is not None and self.latent not in LATENTS:
            raise InvalidArgument("latent", self.latent, "is not a latent", 'use "u" (normal mean) or "z" (exact)')
        if self.centre not in CENTRES:
            raise InvalidArgument("centre", self.centre, "is not a centre", f"use one of {', '.join(CENTRES)}")
        if not (isinstance(self.correlation, int | float) and 0 <= self.correlation < 1):
            raise InvalidArgument("correlation", self.correlation, "is not in [0, 1)", "use for example 0.9")
        check_walk(self.walk)


def _averaged(options: Options) -> Kernel:
    return Averaged(_whole("copies", options.copies, 2, "MHAAR needs the current latent and another"), options.refresh)


KERNELS: dict[str, Callable[[Options], Kernel]] = {
    "pmmh": lambda options: PseudoMarginal(_whole("copies", options.copies, 1, "give the paper's N")),
    "mhaar": _averaged,
    "gibbs": lambda options: Gibbs(),
    "correlated": lambda options: Correlated(
        jax.device_put(np.float64(options.correlation)),
        _whole("copies", options.copies, 1, "give the number of copies"),
    ),
}


def posterior(
    problem: Problem,
    joint: Joint | None,
    method: str | Kernel,
    key: jax.Array,
    *,
    chains: int,
    warmup: int,
    draws: int,
    **given: Any,
) -> Posterior:
    """Draws by a kernel."""
    own, method = (method, type(method).__name__) if isinstance(method, Kernel) else (None, method)
    options = _options(method, given)
    if method == "mh":
        assert joint is not None
        target: Target = marginal_target(problem, joint)
        kernel: Kernel = Marginal()
        what = joint.name
    else:
        target, what = make_target(problem, options)
        kernel = KERNELS[method](options) if own is None else own
    trace = run(kernel, target, key, chains=chains, warmup=warmup, draws=draws, walk=options.walk)
    named = {name: np.asarray(part) for name, part in problem.prior.by_name(trace.theta).items()}
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


def _options(method: str, given: dict[str, Any]) -> Options:
    known = {field.name for field in fields(Options)} if method != "mh" else {"walk"}
    if unknown := sorted(set(given) - known):
        listed = ", ".join(sorted(known))
        raise InvalidArgument("options", unknown, f"are not options of method {method!r}", f"use {listed}")
    return Options(**given)


def make_target(problem: Problem, options: Options) -> tuple[Target, str]:
    """The target of a problem, and what is latent in it."""
    values = _on_device(problem.values)
    if any(isinstance(channel.law, NoiselessLaw) for channel in problem.channels):
        raise IncompatibleError("without noise p(y | records) has no density; use method='grid' or method='mh'")
    if problem.same_records:
        if options.latent == "u":
            raise IncompatibleError("releases of the same records share z, not u; use latent='z'")
        subset = _subset(options, problem.channels[0].n)
        return RecordsTarget(problem.prior, problem.population, problem.channels, values, subset), "z"
    parts = [_one(problem, model, value, options) for model, value in zip(problem.models, values, strict=True)]
    if len(parts) == 1:
        return parts[0]
    blocks = tuple(
        model.channel.n if isinstance(t, EachTarget) else 1 for model, (t, _) in zip(problem.models, parts, strict=True)
    )
    targets = tuple(target for target, _ in parts)
    return ProductTarget(problem.prior, targets, blocks), " + ".join(dict.fromkeys(what for _, what in parts))


def _one(problem: Problem, model: Model, value: jax.Array, options: Options) -> tuple[Target, str]:
    channel = model.channel
    if options.latent == "u":
        if not isinstance(channel.statistic, Mean):
            raise IncompatibleError("latent='u' is the normal approximation of a Mean; use latent='z'")
        if options.subset is not None:
            raise InvalidArgument("subset", options.subset, "is of no use with latent='u'", "leave it out")
        if options.conditional and not has_conditional(model):
            raise IncompatibleError("p(u | y, theta) is known for a scalar mean with Laplace or Gaussian noise only")
        chosen = ConditionalTarget if options.conditional else StatisticTarget
        # of several releases each would say no more than where its own posterior lies
        table = normal_table(model, value, problem.prior) if len(problem.models) == 1 else None
        return chosen(problem.prior, model, value, options.centre, table), "u"
    if isinstance(channel.statistic, Each):
        if options.subset is not None:
            raise InvalidArgument("subset", options.subset, "is of no use with one value per record", "leave it out")
        return EachTarget(problem.prior, model, value), "z, a block per record"
    if isinstance(channel.statistic, OrderStatistic) and options.subset is None and why_no_window(model) is None:
        return WindowTarget.of(problem.prior, model, value, options.anchored), "z, a window of ranks"
    subset = _subset(options, channel.n)
    return RecordsTarget(problem.prior, model.population, (channel,), (value,), subset), "z"


def _subset(options: Options, n: int) -> int | None:
    if options.subset is None:
        return None
    subset = _whole("subset", options.subset, 1, "give the number of records to redraw")
    if subset >= n:
        raise InvalidArgument(
            "subset", subset, f"is not below the number of records, {n}", "leave it out for full mode"
        )
    return subset


def _whole(name: str, value: Any, least: int, remedy: str) -> int:
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InvalidArgument(name, value, f"is not a whole number of at least {least}", remedy)
    return number


def _notes(trace: Trace) -> list[str]:
    notes = interrupted(trace.complete)
    empty = float(trace.empty.mean())
    if empty > 0.05:
        notes.append(f"all weights were zero in {100 * empty:.0f}% of the proposals, which were rejected")
    return notes


def _estimate_variance(kernel: Kernel, target: Target, key: jax.Array, trace: Trace) -> float | None:
    """The variance of log p̂(y | θ) at a central θ, where the kernel carries such an estimate."""
    if not isinstance(kernel, PseudoMarginal | Correlated):
        return None
    flat = trace.theta.reshape(-1, trace.theta.shape[-1])
    theta = flat[np.argsort(flat[:, 0])[flat.shape[0] // 2]]
    # as many as the starts were, whose compiled program serves
    free = np.tile(free_of(target.prior, theta), (tries(target, trace.theta.shape[0]), 1))
    estimates = np.asarray(states_at(kernel, target, jax.random.fold_in(key, 2), free, 1)[1])
    finite = estimates[np.isfinite(estimates)]
    return float(np.var(finite, ddof=1)) if finite.size > 1 else float("inf")
