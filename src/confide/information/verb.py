"""`information`: how much a published value says about θ."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from confide._precision import float64
from confide._progress import working
from confide.errors import IncompatibleError, InvalidArgument
from confide.information.montecarlo import ALGORITHMS, OPTIONS, Sizes
from confide.information.private import private_information
from confide.information.result import Information, efficiency
from confide.information.windows import has_windows
from confide.likelihood import ROUTES, Normal, choose_route
from confide.likelihood.local.two_sided import require_one_derivative
from confide.likelihood.record_law.rows.points import why_not_exact
from confide.likelihood.route import Route
from confide.model import Model

METHODS = (*ROUTES, *ALGORITHMS)
#: the most entries of scores that `auto` draws records for, at about 1e-7 s each
_MOST_SCORES = 6e8


@working("information")
@float64
def information(
    model: Model,
    theta: Any,
    *,
    method: str | Route = "auto",
    key: Any = None,
    outer: int | None = None,
    inner: int | None = None,
    paired: bool = True,
    n: int | None = None,
    **options: Any,
) -> Information:
    """The Fisher information F(θ) of the value that a model's channel publishes (Sec 3 of the paper).

    `auto` computes it exactly where there is an exact route, by the pool of windows for order statistics whose noise
    depends on the records, and by Algorithm 2 otherwise. `normal` is the paper's approximation (Sec 3.1), which can
    exceed the information in the records. `importance`, `replicates` and `sequential` are the paper's Algorithms 1, 2
    and 3, with `outer` published values and `inner` latent draws each; `paired=False` squares one noisy score as
    printed there, which is biased upward. Where the number of records is private, `n` is the one that is assumed: it
    is one more unknown then, and the information is that of the normal approximation.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100)
    >>> model = cf.Model(cf.populations.normal_variance(), channel)
    >>> print(cf.information(model, theta=2.0))
    Fisher information about variance (method 'spectral')
      theta = 2: 3.34962   efficiency 26.8%   variance to ± 0.546 (sd)
    """
    if not isinstance(model, Model):
        raise InvalidArgument("model", model, "is not a model", "use Model(population, channel)")
    if not isinstance(method, Route) and method != "auto" and method not in METHODS:
        remedy = f"use 'auto', one of {', '.join(METHODS)}, or a route such as Spectral()"
        raise InvalidArgument("method", method, "is not a method", remedy)
    if model.channel.n is None:
        return _of_private(model, theta, method, n)
    if n not in (None, model.channel.n):
        raise InvalidArgument("n", n, f"is not the channel's public {model.channel.n}", "leave n out")
    thetas = np.asarray(model.population.theta(theta))
    rows = thetas.reshape(-1, thetas.shape[-1])
    route = _choose(model) if method == "auto" else None if method in ALGORITHMS else choose_route(model, method)
    chosen = route.name if route is not None else "replicates" if method == "auto" else str(method)
    note = ""
    unknown = sorted(set(options) - set(OPTIONS.get(chosen, ())))
    if unknown:
        raise InvalidArgument("options", unknown, f"are not options of method {chosen!r}", "leave them out")
    for name, option in options.items():
        if not isinstance(option, Hashable) or (name == "proposal" and not callable(option)):
            remedy = (
                "give a function of theta that returns a numpyro distribution" if name == "proposal" else "give a word"
            )
            raise InvalidArgument(name, option, "is not of the kind that is needed", remedy)
    if route is None:
        sizes = Sizes.checked(outer, inner)
        if method == "auto":
            _require_affordable(model, len(rows), sizes)
        found, error, note = ALGORITHMS[chosen](model, rows, sizes, key=key, paired=paired, **options)
    else:
        if not route.simulated:
            require_one_derivative(model, rows)
        found, error = route.information_with_error(model, rows, size=outer, key=key)
    shape = (*thetas.shape[:-1], thetas.shape[-1], thetas.shape[-1])
    matrix, spread = np.asarray(found).reshape(shape), np.asarray(error).reshape(shape)
    # of the rows that routes ask about, so that one program serves
    unknown_whole = model.population.moving or model.population.rows is not None
    whole = None if unknown_whole else np.asarray(model.population.fisher(rows)).reshape(shape)
    records = None if whole is None else model.channel.n * whole
    share = efficiency(matrix, records)
    exact = chosen != "importance" if route is None else not route.approximate
    words = why_not_exact(model.population, model.channel.statistic) if exact and route is not None else None
    if words is not None:
        exact, note = False, words
    return Information(thetas, matrix, spread, chosen, share, model.population.names, exact, note)


def _of_private(model: Model, theta: Any, method: str | Route, n: int | None) -> Information:
    """At a number of records that is assumed, and not known to who reads the release."""
    if method not in ("auto", "normal"):
        raise InvalidArgument("method", method, "needs a public number of records", "leave it out")
    assumed = model.assuming(n).channel.n
    thetas = np.asarray(model.population.theta(theta))
    rows = thetas.reshape(-1, thetas.shape[-1])
    matrix = private_information(model, rows, assumed).reshape(*thetas.shape, thetas.shape[-1])
    records = None
    if not model.population.moving:
        records = assumed * np.asarray(model.population.fisher(rows)).reshape(matrix.shape)
    share = efficiency(matrix, records)
    note = f"n = {assumed:,} is assumed, and not known"
    return Information(thetas, matrix, np.zeros_like(matrix), "normal", share, model.population.names, False, note)


def _require_affordable(model: Model, count: int, sizes: Sizes) -> None:
    """Refuse, before any work, to replicate more records than a minute or so is enough for."""
    n, dimension = model.channel.n, model.population.dimension
    drawn = 2.0 * count * sizes.outer * sizes.inner * n * dimension
    if drawn <= _MOST_SCORES or has_windows(model):
        return
    raise IncompatibleError(
        f"{model.channel.statistic} under this noise has no exact information, and Algorithm 2 would replicate "
        f"{sizes.outer:,} × {sizes.inner:,} data sets of {n:,} records with {dimension} scores each, about "
        f"{drawn * 1e-7 / 60:.0f} minutes of work; use Gaussian noise, of which a vector has a closed form, ask for "
        "less (outer=100, inner=100), or insist by method='replicates'"
    )


def _choose(model: Model) -> Route | None:
    """The route that `auto` takes; None where Algorithm 2 is better than what is left."""
    try:
        chosen = choose_route(model)
    except IncompatibleError:
        return None
    noise = model.channel.law.added
    # of several means of rows the normal law is all there is; of numbers Algorithm 2 does without it
    serves = noise is None or noise.normal or model.population.rows is not None
    closed = model.channel.statistic.dimension > 1 and serves
    if closed and noise is not None and not noise.normal:
        return Normal(averaged=True)
    return None if chosen.approximate and not closed else chosen
