"""A method: one way to a posterior."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import jax

from confide.inference.problem import Problem
from confide.likelihood.joint_law import Joint
from confide.posterior import Posterior


class Lengths(NamedTuple):
    """How many chains, and how long."""

    chains: int
    warmup: int
    draws: int
    #: times as many draws, at most, where these say too little
    most: int = 1


class Method(ABC):
    """One way to a posterior: what `infer(method=...)` takes.

    >>> import confide as cf
    >>> isinstance(cf.MHAAR(copies=5), cf.Method)
    True
    """

    name: ClassVar[str]
    #: whether it works on p(y | θ); what does not is given no joint likelihood
    on_likelihood: ClassVar[bool] = False

    @abstractmethod
    def posterior(self, problem: Problem, joint: Joint | None, key: jax.Array, lengths: Lengths) -> Posterior:
        """The posterior of a problem."""
