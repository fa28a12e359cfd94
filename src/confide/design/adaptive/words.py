"""Populations and priors as the calls that make them: `normal_mean(variance=10)`, `Normal(loc=0.0, scale=100.0)`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist

from confide import populations
from confide.errors import IncompatibleError, InvalidArgument
from confide.population import Population
from confide.prior import Prior
from confide.registry import POPULATIONS


def _call(text: str) -> tuple[str, dict[str, float]]:
    """A name, and the numbers that are given by name."""
    remedy = "write a name and numbers, such as normal_mean(variance=10)"
    try:
        node = ast.parse(text if text.endswith(")") else f"{text}()", mode="eval").body
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        given = {str(each.arg): float(ast.literal_eval(each.value)) for each in node.keywords}
        assert not node.args and len(given) == len(node.keywords)
    except (SyntaxError, ValueError, TypeError, AssertionError, RecursionError, MemoryError):
        raise InvalidArgument("text", text[:200], "cannot be read", remedy) from None
    return node.func.id, given


def population_text(population: Population) -> str:
    """The call that makes a population of `confide.populations`; others are refused.

    >>> population_text(populations.normal_mean(variance=2.0))
    'normal_mean(variance=2)'
    """
    try:
        same = read_population(population.name) == population
    except (InvalidArgument, TypeError):
        same = False
    if not same:
        problem = f"the population {population.name} is defined in your own program, which no file can describe"
        raise IncompatibleError(f"{problem}; keep the plan in memory, or use one of confide.populations")
    return population.name


def read_population(text: str) -> Population:
    """The population that a call makes.

    >>> read_population("normal_mean(variance=2)").names
    ('mean',)
    """
    name, given = _call(text)
    if name not in POPULATIONS:
        raise InvalidArgument("population", text, "is not known", f"use one of {', '.join(POPULATIONS)}")
    made: Population = getattr(populations, name)(**given)
    return made


def prior_text(prior: Prior) -> dict[str, str]:
    """The calls that make a prior's distributions; others than numpyro's own are refused.

    >>> from confide import populations
    >>> prior_text(Prior.of(populations.normal_mean(), {"mean": dist.Normal(0.0, 100.0)}))
    {'mean': 'Normal(loc=0.0, scale=100.0)'}
    """
    found = {}
    for name, part in zip(prior.names, prior.parts, strict=True):
        kind = type(part).__name__
        given = {each: np.asarray(getattr(part, each)) for each in part.arg_constraints if each in vars(part)}
        if getattr(dist, kind, None) is not type(part) or any(each.ndim for each in given.values()):
            raise IncompatibleError(f"no file can describe the prior {kind} of {name}; use a distribution of numpyro")
        found[name] = f"{kind}({', '.join(f'{each}={float(value)!r}' for each, value in given.items())})"
    return found


def read_prior(texts: Mapping[str, str]) -> dict[str, Any]:
    """The distributions that calls make."""
    found = {}
    for parameter, text in texts.items():
        name, given = _call(text)
        kind = getattr(dist, name, None) if name in dist.__all__ else None
        if not (isinstance(kind, type) and issubclass(kind, dist.Distribution)):
            raise InvalidArgument("prior", text[:200], "is not a distribution of numpyro", "see numpyro.distributions")
        try:
            with jax.enable_x64(True):
                kind(**given, validate_args=True)
                found[parameter] = kind(**given)
        except Exception:  # whatever a constructor of numpyro says about its arguments
            raise InvalidArgument("prior", text[:200], "has parameters that are not allowed", f"see {name}") from None
    return found
