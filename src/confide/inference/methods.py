"""The methods of `infer`, as objects that hold their own options; a name is a shorthand for one of them.

A method either integrates or samples p(y | θ) (`Grid`, `NUTS`, `MH`), or moves θ together with what is latent: the
paper's `PMMH` and `MHAAR`, `Gibbs`, `Correlated`, and any kernel of your own (`OwnKernel`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any

import jax
import numpy as np

from confide._checks import whole
from confide.errors import AccuracyError, InvalidArgument
from confide.inference.kernel import (
    Averaged,
    CorrelatedPseudoMarginal,
    Kernel,
    Marginal,
    PseudoMarginal,
    WithinGibbs,
)
from confide.inference.kernel.proposal import Walk, check_walk
from confide.inference.method import Lengths, Method
from confide.inference.problem import Problem
from confide.inference.quadrature import grid
from confide.inference.quadrature.plane import Unresolved
from confide.inference.sampling import assemble, nuts
from confide.inference.sampling.longer import MOST, one_in_so_many
from confide.likelihood.joint_law import Joint
from confide.posterior import Posterior


@dataclass(frozen=True)
class Grid(Method):
    """Quadrature over one or two parameters; the draws are independent.

    >>> import confide as cf, numpyro.distributions as dist
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
    >>> release, prior = cf.Release(channel, 0.31), {"probability": dist.Beta(1.0, 1.0)}
    >>> posterior = cf.infer(cf.populations.bernoulli(), release, prior, method=cf.Grid())
    >>> posterior.method, round(posterior.mean["probability"], 4)
    ('grid', 0.3104)
    """

    name = "grid"
    on_likelihood = True

    def posterior(self, problem: Problem, joint: Joint | None, key: jax.Array, lengths: Lengths) -> Posterior:
        """By quadrature."""
        assert joint is not None
        return grid.posterior(problem, joint, key, lengths.chains, lengths.draws)


@dataclass(frozen=True)
class NUTS(Method):
    """NumPyro's No-U-Turn sampler on p(y | θ), for any number of parameters.

    >>> import confide as cf
    >>> cf.NUTS().name
    'nuts'
    """

    name = "nuts"
    on_likelihood = True

    def posterior(self, problem: Problem, joint: Joint | None, key: jax.Array, lengths: Lengths) -> Posterior:
        """By NUTS."""
        assert joint is not None
        return nuts.posterior(problem, joint, key, lengths)


@dataclass(frozen=True)
class GridOrNUTS(Method):
    """What `auto` means by quadrature: where that does not resolve two parameters, NUTS, which is said.

    Its chains start where quadrature has found the mass, if it has, and are given a time, which is said too.
    """

    name = "grid"
    on_likelihood = True

    def posterior(self, problem: Problem, joint: Joint | None, key: jax.Array, lengths: Lengths) -> Posterior:
        """By quadrature if possible."""
        assert joint is not None
        try:
            return Grid().posterior(problem, joint, key, lengths)
        except AccuracyError as failure:
            if problem.prior.free_dimension == 1 or joint.simulated:
                raise
            reason = f"quadrature did not serve ({failure}); this is NUTS"
            known = nuts.inside(failure.plane, key, lengths.chains) if isinstance(failure, Unresolved) else None
        found = nuts.posterior(problem, joint, key, lengths, start=known, seconds=nuts.PATIENCE)
        warnings = (reason, *found.diagnostics.warnings)
        return replace(found, diagnostics=replace(found.diagnostics, warnings=warnings))


@dataclass(frozen=True)
class MH(Method):
    """Metropolis–Hastings on p(y | θ), Algorithm 4 of the paper; `walk` is adapted during warm-up unless given.

    >>> import confide as cf
    >>> cf.MH(walk=cf.Walk(0.5)).name
    'mh'
    """

    walk: Walk | None = None

    name = "mh"
    on_likelihood = True

    def __post_init__(self) -> None:
        check_walk(self.walk)

    def posterior(self, problem: Problem, joint: Joint | None, key: jax.Array, lengths: Lengths) -> Posterior:
        """By a chain on θ alone."""
        assert joint is not None
        target = assemble.marginal_target(problem, joint)
        return assemble.sampled(problem, self.name, joint.name, Marginal(), target, self.walk, key, lengths)


@dataclass(frozen=True, kw_only=True)
class OnLatents(Method, assemble.Latents):
    """What methods that move θ and a latent variable share: which latent it is, and the walk on θ."""

    walk: Walk | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_walk(self.walk)

    @abstractmethod
    def kernel(self) -> Kernel:
        """How θ and the latent move."""

    def posterior(self, problem: Problem, joint: Joint | None, key: jax.Array, lengths: Lengths) -> Posterior:
        """By chains on (θ, latent)."""
        del joint
        kernel = self.kernel()
        target, what = assemble.make_target(problem, self)
        return assemble.sampled(problem, self.name, what, kernel, target, self.walk, key, lengths)


@dataclass(frozen=True, kw_only=True)
class PMMH(OnLatents):
    """Pseudo-marginal Metropolis–Hastings, Algorithm 5 of the paper, with N = `copies`.

    >>> import confide as cf
    >>> cf.PMMH(copies=20, latent="u").copies
    20
    """

    copies: int = 10

    name = "pmmh"

    def kernel(self) -> Kernel:
        """An estimate of p(y | θ) that is carried along."""
        return PseudoMarginal(whole("copies", self.copies, 1, "give the paper's N"))


@dataclass(frozen=True, kw_only=True)
class MHAAR(OnLatents):
    """Averaged acceptance ratios, Algorithms 6 (`latent="u"`), 7 (`latent="z"`, `subset`) and 8 (for `Each`).

    >>> import confide as cf
    >>> cf.MHAAR(copies=5, latent="z", subset=10).subset
    10
    """

    copies: int = 10
    refresh: bool = True

    name = "mhaar"

    def kernel(self) -> Kernel:
        """An average over copies of the latent."""
        return Averaged(
            whole("copies", self.copies, 2, "MHAAR needs the current latent and another"), bool(self.refresh)
        )


@dataclass(frozen=True)
class LongEnough(Method):
    """What `auto` means by MHAAR: chains that go on where their draws have said too little."""

    chains: MHAAR

    name = "mhaar"

    def posterior(self, problem: Problem, joint: Joint | None, key: jax.Array, lengths: Lengths) -> Posterior:
        """By as many steps as the chains ask for."""
        found = self.chains.posterior(problem, joint, key, lengths._replace(most=MOST))
        return one_in_so_many(found, lengths.draws)


@dataclass(frozen=True, kw_only=True)
class Gibbs(OnLatents):
    """Metropolis–Hastings within Gibbs: the latent given θ, then θ given the latent (Sec 4.2 of the paper).

    >>> import confide as cf
    >>> cf.Gibbs(latent="u").name
    'gibbs'
    """

    name = "gibbs"

    def kernel(self) -> Kernel:
        """One after the other."""
        return WithinGibbs()


@dataclass(frozen=True, kw_only=True)
class Correlated(OnLatents):
    """The correlated pseudo-marginal method: the noise behind the estimate moves a little (`correlation`).

    >>> import confide as cf
    >>> cf.Correlated(correlation=0.99, copies=20).correlation
    0.99
    """

    correlation: float = 0.9
    copies: int = 10

    name = "correlated"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.correlation, int | float) and 0 <= self.correlation < 1):
            raise InvalidArgument("correlation", self.correlation, "is not in [0, 1)", "use for example 0.9")

    def kernel(self) -> Kernel:
        """An estimate whose noise is a part of the state."""
        copies = whole("copies", self.copies, 1, "give the number of copies")
        return CorrelatedPseudoMarginal(jax.device_put(np.float64(self.correlation)), copies)


@dataclass(frozen=True, kw_only=True)
class OwnKernel(OnLatents):
    """A kernel of your own on the latents that ours have.

    >>> import confide as cf
    >>> from confide.inference.kernel import Averaged
    >>> cf.OwnKernel(moves=Averaged(copies=3), latent="z").name
    'Averaged'
    """

    moves: Kernel

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of its class."""
        return type(self.moves).__name__

    def kernel(self) -> Kernel:
        """As given."""
        return self.moves


#: What a name is a shorthand for.
METHODS: dict[str, type[Method]] = {method.name: method for method in (Grid, NUTS, MH, PMMH, MHAAR, Gibbs, Correlated)}
#: options that a name of a method on latents may be given, whether or not it is one that has them
_ON_LATENTS = {field.name for method in METHODS.values() if issubclass(method, OnLatents) for field in fields(method)}


def as_method(method: str | Method | Kernel, options: dict[str, Any]) -> Method:
    """The method that is meant by a name and options, by an object, or by a kernel of the user's own."""
    if isinstance(method, Method):
        if options:
            remedy = f"give them to {type(method).__name__}(…)"
            raise InvalidArgument("options", sorted(options), "stand beside a method that has its own", remedy)
        return method
    if isinstance(method, Kernel):
        return OwnKernel(moves=method, **_known(type(method).__name__, options, _ON_LATENTS, OwnKernel))
    if not isinstance(method, str) or method not in METHODS:
        remedy = f"use 'auto', one of {', '.join(METHODS)}, or an object such as MHAAR(copies=5)"
        raise InvalidArgument("method", method, "is not a method", remedy)
    chosen = METHODS[method]
    own = {field.name for field in fields(chosen)}  # type: ignore[arg-type]
    return chosen(**_known(method, options, _ON_LATENTS if issubclass(chosen, OnLatents) else own, chosen))


def _known(name: str, options: dict[str, Any], allowed: set[str], chosen: type[Method]) -> dict[str, Any]:
    """The options that a method has, of those that may be given."""
    if unknown := sorted(set(options) - allowed):
        remedy = f"use {', '.join(sorted(allowed))}" if allowed else "leave them out"
        raise InvalidArgument("options", unknown, f"are not options of method {name!r}", remedy)
    own = {field.name for field in fields(chosen)}  # type: ignore[arg-type]
    return {name: value for name, value in options.items() if name in own}
