"""The posterior: what is known about θ after the release."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide._call import Remembered
from confide._digits import around, as_known
from confide._precision import float64
from confide.errors import IncompatibleError, InvalidArgument

if TYPE_CHECKING:
    from confide.inference.diagnostics import Diagnostics
    from confide.model import Model
    from confide.model_check import ModelCheck
    from confide.prior import Prior

Floats = NDArray[np.float64]


class Values(dict[str, Any]):
    """Numbers by parameter; with one parameter it is also that number.

    >>> float(Values(variance=2.0))
    2.0
    """

    def __float__(self) -> float:
        if len(self) != 1:
            raise TypeError(f"there are several parameters ({', '.join(self)}); name one")
        return float(next(iter(self.values())))


@dataclass(frozen=True)
class Exact:
    """Mean and standard deviation by quadrature, and the density on a grid where there is one parameter."""

    mean: Mapping[str, Any]
    sd: Mapping[str, Any]
    #: θ, p(θ | y) and P(θ' ≤ θ | y), for one parameter
    theta: Floats | None = None
    density: Floats | None = None
    cdf: Floats | None = None


@dataclass(frozen=True, repr=False)
class Posterior:
    """Draws from p(θ | y), how they were made, and how far they can be trusted.

    `draws` maps each parameter to an array (chain, draw), with a further axis for a vector. `mean`, `sd` and
    `interval(prob)` are by parameter too; where the posterior was integrated they come from the integral, not from the
    draws.

    >>> import confide as cf, numpyro.distributions as dist
    >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
    >>> release = cf.Release(channel, 1.128379)
    >>> prior = {"variance": dist.InverseGamma(2.0, 2.0)}
    >>> posterior = cf.infer(cf.populations.normal_variance(), release, prior, key=0)
    >>> print(posterior)
    Posterior of variance: mean ± sd (method 'grid', route 'spectral')
      variance: 1.983 ± 0.3148, 90% in (1.521, 2.544)
    """

    draws: dict[str, Floats]
    method: str
    #: how p(y | θ) was computed, or what was latent
    route: str
    diagnostics: Diagnostics
    prior: Prior = field(repr=False)
    exact: Exact | None = field(default=None, repr=False)
    #: False if the run was interrupted
    complete: bool = True
    call: Remembered | None = field(default=None, repr=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters."""
        return tuple(self.draws)

    @property
    def mean(self) -> Values:
        """E[θ | y]."""
        if self.exact is not None:
            return Values(self.exact.mean)
        return Values({name: _plain(each.mean(axis=(0, 1))) for name, each in self.draws.items()})

    @property
    def sd(self) -> Values:
        """The posterior standard deviation."""
        if self.exact is not None:
            return Values(self.exact.sd)
        return Values({name: _plain(each.std(axis=(0, 1), ddof=1)) for name, each in self.draws.items()})

    def quantile(self, q: Any) -> Values:
        """Posterior quantiles.

        >>> import confide as cf, numpyro.distributions as dist
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
        >>> prior = {"probability": dist.Beta(1.0, 1.0)}
        >>> posterior = cf.infer(cf.populations.bernoulli(), cf.Release(channel, 0.31), prior, route="normal")
        >>> round(posterior.quantile(0.5)["probability"], 3)
        0.31
        """
        levels = np.asarray(q, dtype=np.float64)
        if not np.all((levels >= 0) & (levels <= 1)):
            raise InvalidArgument("q", q, "is not a probability", "give numbers from 0 to 1")
        if self.exact is not None and self.exact.cdf is not None and self.exact.theta is not None:
            integrated = {self.names[0]: _plain(np.interp(levels, self.exact.cdf, self.exact.theta))}
        else:
            integrated = {}
        drawn = {n: each for n, each in self.draws.items() if n not in integrated}
        return Values(integrated | {n: _plain(np.quantile(each, levels, axis=(0, 1))) for n, each in drawn.items()})

    def interval(self, prob: float = 0.9) -> Values:
        """The central interval of probability `prob`: (low, high) by parameter.

        >>> import confide as cf, numpyro.distributions as dist
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
        >>> prior = {"probability": dist.Beta(1.0, 1.0)}
        >>> posterior = cf.infer(cf.populations.bernoulli(), cf.Release(channel, 0.31), prior, route="normal")
        >>> posterior.interval(0.9)["probability"].round(3)
        array([0.287, 0.335])
        """
        if not (isinstance(prob, int | float) and 0 < prob < 1):
            raise InvalidArgument("prob", prob, "is not a probability between 0 and 1", "use for example 0.9")
        return self.quantile([0.5 - prob / 2, 0.5 + prob / 2])

    def probability(self, claim: str) -> float:
        """How probable a claim about the parameters is: a comparison, or several multiplied.

        It is written as statistics are, with the parameters' names in place of x, `name[0]` for an entry of a vector.
        Where the posterior of one parameter was integrated it comes from the integral, otherwise from the draws.

        >>> import confide as cf, numpyro.distributions as dist
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
        >>> prior = {"probability": dist.Beta(1.0, 1.0)}
        >>> posterior = cf.infer(cf.populations.bernoulli(), cf.Release(channel, 0.31), prior, route="normal")
        >>> round(posterior.probability("(0.3 < probability) * (probability < 0.33)"), 3)
        0.666
        """
        from confide.claim import probability

        return probability(self, claim)

    @property
    def log_evidence(self) -> float:
        """log p(y): how well the population and its prior expected what was published; for one or two parameters.

        The difference between two populations, given the same releases, is the logarithm of their Bayes factor.

        >>> import confide as cf, numpyro.distributions as dist
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 20)), cf.Laplace(cf.PureDP(1.0)), n=50)
        >>> releases, prior = cf.Release(channel, 3.1), dist.Gamma(2.0, 1.0)
        >>> one = cf.infer(cf.populations.poisson(), releases, {"rate": prior})
        >>> two = cf.infer(cf.populations.exponential(), releases, {"rate": prior})
        >>> round(one.log_evidence - two.log_evidence, 3)
        1.549
        """
        from confide.inference.evidence import log_evidence

        return log_evidence(self)

    @float64
    def predict(self, model: Model, key: Any = 0, *, n: int | None = None) -> Any:
        """What a channel would publish about new records of this population: one value per draw, (chain, draw, …).

        Where the channel keeps the number of records private, `n` is the one that is assumed.

        >>> import confide as cf, numpyro.distributions as dist
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
        >>> prior, population = {"probability": dist.Beta(1.0, 1.0)}, cf.populations.bernoulli()
        >>> posterior = cf.infer(population, cf.Release(channel, 0.31), prior, route="normal")
        >>> next_year = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(0.1)), n=500)
        >>> print(posterior.predict(cf.Model(population, next_year)).std().round(3))
        0.037
        """
        theirs, ours = getattr(getattr(model, "population", None), "names", None), self.prior.names
        if theirs != ours:
            remedy = f"give a Model whose population has the parameters {', '.join(ours)}"
            raise InvalidArgument("model", model, "is not of the population of this posterior", remedy)
        return model.simulate(key, self.theta, n=n)

    def check(self, key: Any = 0) -> ModelCheck:
        """How well the family fits a published histogram: a posterior predictive p-value, in words.

        >>> import confide as cf, numpyro.distributions as dist
        >>> channel = cf.Channel(cf.Histogram("x", edges=[-2, 0, 2]), cf.Laplace(scale=1.0, step=1), n=400)
        >>> population, prior = cf.populations.normal_mean(), {"mean": dist.Normal(0.0, 1.0)}
        >>> check = cf.infer(population, cf.Release(channel, [70.0, 132.0, 128.0, 70.0]), prior).check()
        >>> check.p_value, str(check)[:57]
        (0.0, 'The family normal_mean(variance=1) does not fit what was ')
        """
        from confide.model_check import model_check

        return model_check(self, key)

    @property
    def theta(self) -> Floats:
        """The draws as one array (chain, draw, entry of θ)."""
        shape = next(iter(self.draws.values())).shape[:2]
        parts = (self.draws[name] for name in self.prior.names)
        return np.concatenate([np.reshape(each, (*shape, -1)) for each in parts], axis=-1)

    def summary(self, prob: float = 0.9) -> Any:
        """A pandas table: mean, sd, interval, effective draws and R-hat of each parameter.

        >>> import confide as cf, numpyro.distributions as dist
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
        >>> prior = {"probability": dist.Beta(1.0, 1.0)}
        >>> posterior = cf.infer(cf.populations.bernoulli(), cf.Release(channel, 0.31), prior, route="normal")
        >>> list(posterior.summary().columns)
        ['mean', 'sd', '5%', '95%', 'ess', 'r_hat']
        """
        import pandas as pd

        low, high = f"{50 - 50 * prob:g}%", f"{50 + 50 * prob:g}%"
        rows = {}
        ends, diagnostics = self.interval(prob), self.diagnostics
        for name in self.names:
            size = self.draws[name][0, 0].size
            columns = [self.mean[name], self.sd[name], *ends[name], diagnostics.ess[name], diagnostics.r_hat[name]]
            for j in range(size):
                label = name if size == 1 else f"{name}[{j}]"
                rows[label] = [float(np.broadcast_to(np.ravel(part), (size,))[j]) for part in columns]
        return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "sd", low, high, "ess", "r_hat"])

    def to_arviz(self, *, predictive: bool = False) -> Any:
        """The draws as an ArviZ object, with as many draws of the prior and what was published.

        With `predictive`, values are simulated from the channels too, one per draw: what might have been published.

        >>> import confide as cf, numpyro.distributions as dist
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
        >>> prior = {"probability": dist.Beta(1.0, 1.0)}
        >>> posterior = cf.infer(cf.populations.bernoulli(), cf.Release(channel, 0.31), prior, route="normal")
        >>> dict(posterior.to_arviz().posterior.sizes), posterior.to_arviz().observed_data.release_0.item()
        ({'chain': 4, 'draw': 1000}, 0.31)
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # ArviZ announces its next version once a day
                import arviz
        except ImportError:
            raise IncompatibleError('ArviZ is not installed; use pip install "confide[tables]"') from None
        from confide.predictive import groups

        drawn = {name: np.asarray(each) for name, each in self.draws.items()}
        return arviz.from_dict(posterior=drawn, **groups(self, predictive=predictive))

    def plot(self, axes: Any = None) -> Any:
        """Prior and posterior of each parameter; returns the matplotlib figure.

        >>> import confide as cf, numpyro.distributions as dist
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
        >>> prior = {"probability": dist.Beta(1.0, 1.0)}
        >>> posterior = cf.infer(cf.populations.bernoulli(), cf.Release(channel, 0.31), prior, route="normal")
        >>> type(posterior.plot()).__name__
        'Figure'
        """
        from confide.plots.posterior import plot_posterior

        return plot_posterior(self, axes)

    def __str__(self) -> str:
        by_likelihood = {"grid", "nuts", "mh", "importance", "prior"}
        kind = "route" if by_likelihood.issuperset(self.method.split(" and ")) else "latent"
        how = f"method {self.method!r}, {kind} {self.route!r}"
        lines = [f"Posterior of {', '.join(self.names)}: mean ± sd ({how}{'' if self.complete else ', interrupted'})"]
        ends = self.interval(0.9)
        for name in self.names:
            mean, sd = np.ravel(self.mean[name]), np.ravel(self.sd[name])
            low, high = (np.ravel(end) for end in ends[name])
            for j in range(mean.size):
                label = name if mean.size == 1 else f"{name}[{j}]"
                value, first, last = (as_known(each[j], sd[j]) for each in (mean, low, high))
                lines.append(f"  {label}: {value} ± {around(sd[j], digits=4)}, 90% in ({first}, {last})")
        return "\n".join([*lines, *(f"  warning: {text}" for text in self.diagnostics.warnings)])

    __repr__ = __str__


def _plain(value: Any) -> Any:
    array = np.asarray(value)
    return float(array) if array.ndim == 0 else array
