"""Rows of an outcome and covariates: linear and logistic regression.

The covariates are jointly normal, with a mean and a covariance that are parameters too, unless their laws are given.
Jointly normal columns are a chain: each is normal given those before it, with the regression that the covariance says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax.scipy.special import erfc, ndtri
from numpyro.distributions import constraints
from numpyro.distributions.constraints import Constraint

from confide._call import built
from confide.errors import InvalidArgument
from confide.population import Population
from confide.population.rows import ColumnLaw

#: more covariates than that have moments by the hundred
_MOST = 12
_MEAN, _COVARIANCE = "covariate_mean", "covariate_covariance"


@dataclass(frozen=True)
class _NormalGiven:
    """A function of a normal law whose mean and standard deviation follow from parameters and earlier columns."""

    of: Any
    part: str

    def __call__(self, *value: jax.Array, **given: jax.Array) -> Any:
        mean, sd = self.of(**given)
        if self.part == "law":
            return dist.Normal(mean, sd, validate_args=False)
        (x,) = value
        if self.part == "quantile":
            return mean + sd * ndtri(x)
        z = (x - mean) / sd
        return 0.5 * erfc((-z if self.part == "cdf" else z) * 0.5**0.5)


def _normal_column(of: Any, needs: dict[str, Constraint], sizes: Mapping[str, int], name: str) -> ColumnLaw:
    forms: dict[str, Any] = {part: _NormalGiven(of, part) for part in ("cdf", "survival", "quantile")}
    used = {each: size for each, size in sizes.items() if each in needs}
    return ColumnLaw(Population(_NormalGiven(of, "law"), needs, name, sizes=used, **forms), tuple(needs))


@dataclass(frozen=True)
class _Predicted:
    """intercept + coefficients · covariates."""

    covariates: tuple[str, ...]

    def line(self, given: Mapping[str, jax.Array]) -> jax.Array:
        """The linear predictor."""
        return given["intercept"] + sum(given["coefficients"][k] * given[x] for k, x in enumerate(self.covariates))


@dataclass(frozen=True)
class _Linear(_Predicted):
    def __call__(self, **given: jax.Array) -> tuple[jax.Array, jax.Array]:
        return self.line(given), jnp.sqrt(given["variance"])


@dataclass(frozen=True)
class _Logistic(_Predicted):
    def __call__(self, **given: jax.Array) -> Any:
        return dist.Bernoulli(logits=self.line(given), validate_args=False)


@dataclass(frozen=True)
class _Covariate:
    """A jointly normal covariate given those before it."""

    before: tuple[str, ...]

    def __call__(self, **given: jax.Array) -> tuple[jax.Array, jax.Array]:
        k, mean, covariance = len(self.before), given[_MEAN], given[_COVARIANCE]
        if k == 0:
            return mean[0], jnp.sqrt(covariance[0, 0])
        slopes = jnp.linalg.solve(covariance[:k, :k], covariance[:k, k])
        beside = jnp.stack([given[name] for name in self.before]) - mean[:k]
        return mean[k] + slopes @ beside, jnp.sqrt(covariance[k, k] - slopes @ covariance[:k, k])


@dataclass(frozen=True, eq=False)
class _AsGiven:
    """A law that is given; two of the same kind with equal numbers are equal."""

    law: dist.Distribution

    def __call__(self) -> dist.Distribution:
        return self.law

    def _key(self) -> tuple[Any, ...]:
        return type(self.law), tuple(float(leaf) for leaf in jax.tree.leaves(self.law))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _AsGiven) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


@built
def linear_regression(outcome: str, covariates: Sequence[str] | Mapping[str, Any]) -> Population:
    """Rows with outcome = intercept + coefficients · covariates + N(0, variance).

    Covariates that are only named are jointly normal, with unknown `covariate_mean` and `covariate_covariance`; a
    mapping gives each its own law instead.

    >>> import numpyro.distributions as dist
    >>> linear_regression("y", ["x"]).names
    ('intercept', 'coefficients', 'variance', 'covariate_mean', 'covariate_covariance')
    >>> linear_regression("y", {"x": dist.Normal(0.0, 1.0)}).names
    ('intercept', 'coefficients', 'variance')
    """
    names = _names(outcome, covariates)
    own: dict[str, Constraint] = {"intercept": constraints.real, "coefficients": constraints.real_vector}
    own["variance"] = constraints.positive
    needs = own | dict.fromkeys(names, constraints.real)
    law = _normal_column(_Linear(names), needs, {"coefficients": len(names)}, outcome)
    return _regression("linear_regression", outcome, covariates, own, law)


@built
def logistic_regression(outcome: str, covariates: Sequence[str] | Mapping[str, Any]) -> Population:
    """Rows whose outcome is 1 with log odds intercept + coefficients · covariates, else 0.

    >>> logistic_regression("y", ["x"]).names
    ('intercept', 'coefficients', 'covariate_mean', 'covariate_covariance')
    """
    names = _names(outcome, covariates)
    own: dict[str, Constraint] = {"intercept": constraints.real, "coefficients": constraints.real_vector}
    needs = own | dict.fromkeys(names, constraints.real)
    made = Population(_Logistic(names), needs, outcome, sizes={"coefficients": len(names)})
    return _regression("logistic_regression", outcome, covariates, own, ColumnLaw(made, tuple(needs)))


def _names(outcome: Any, covariates: Any) -> tuple[str, ...]:
    remedy = 'give a list of columns, ["x"], or of columns with their laws, {"x": dist.Normal(0, 1)}'
    if isinstance(covariates, str) or not isinstance(covariates, Sequence | Mapping):
        raise InvalidArgument("covariates", covariates, "is not a list of columns", remedy)
    names = tuple(covariates)
    if not 0 < len(names) <= _MOST:
        raise InvalidArgument("covariates", covariates, f"has {len(names)} columns", f"give 1 to {_MOST}")
    if len({outcome, *names}) <= len(names):
        raise InvalidArgument("covariates", covariates, "names a column twice", "name each once, and not the outcome")
    return names


def _regression(kind: str, outcome: str, covariates: Any, own: dict[str, Constraint], law: ColumnLaw) -> Population:
    names = tuple(covariates)
    parameters, sizes = dict(own), {"coefficients": len(names)}
    columns: dict[str, Any] = {}
    if isinstance(covariates, Mapping):
        for name, given in covariates.items():
            if not isinstance(given, dist.Distribution) or given.batch_shape + given.event_shape:
                remedy = "give a numpyro distribution of one number, such as dist.Normal(0.0, 1.0)"
                raise InvalidArgument(f"covariates[{name!r}]", given, "is not a law of one number", remedy)
            columns[name] = _AsGiven(given)
        label = ", ".join(f"{name}: {type(given).__name__}" for name, given in covariates.items())
    else:
        parameters |= {_MEAN: constraints.real_vector, _COVARIANCE: constraints.positive_definite}
        sizes |= {_MEAN: len(names), _COVARIANCE: len(names)}
        for k, name in enumerate(names):
            needs = {each: parameters[each] for each in (_MEAN, _COVARIANCE)}
            needs |= dict.fromkeys(names[:k], constraints.real)
            columns[name] = _normal_column(_Covariate(names[:k]), needs, sizes, name)
        label = ", ".join(names)
    columns[outcome] = law
    return Population(columns, parameters, f"{kind}({outcome}; {label})", sizes=sizes)
