"""What it does to a release that a public number stood in for missing values, and how to undo it where that is known.

A release with `missing=c` computes its statistic over all n records, of which an unknown number k hold c. The model of
a release has n records of the population. So the likelihood is that of another experiment, by as much as k says.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping

import numpy as np

from confide.errors import IncompatibleError, InvalidArgument
from confide.mechanism import Gaussian, Laplace
from confide.published.release import Release
from confide.statistic import Statistic
from confide.statistic.one_column import about_x
from confide.statistic.transform import apply

#: what to do where nobody knows how many values were missing
UNKNOWN = 'give their share a prior beside the others, such as "missing": dist.Beta(1.0, 19.0)'


def imputed(release: Release) -> tuple[float, ...] | None:
    """What s is for an imputed value, one number per component; None where nothing was imputed."""
    if release.missing is None or isinstance(release.missing, str):
        return None
    given, constant = release.channel.statistic, release.missing
    if given.tallies:
        raise IncompatibleError(f"the share of missing records is no parameter of {given}, which counts them in a cell")
    statistic = about_x(given) or given
    if isinstance(constant, Mapping) and statistic is not given:
        (constant,) = constant.values()
    if isinstance(constant, Mapping) or statistic.columns != ("x",):
        raise IncompatibleError(
            f"{statistic} is about rows, of which any of the columns may have been imputed: what that did to the "
            "number is known by its size only, and the share of such rows is no parameter"
        )
    low, high = statistic.bounds
    return tuple(
        float(apply(transform, np, float(constant), low, high, statistic.dimension))
        for transform in statistic.transforms
    )


def effect(release: Release) -> str | None:
    """What imputation may have done, in words with its size; None where nothing was imputed.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 10)), cf.Laplace(scale=0.05), n=1000)
    >>> print(effect(cf.Release(channel, 4.2, missing=3.0)))
    missing values were replaced by 3 before the mean of x with x clipped to [0, 10] was computed, and the model takes
    them for records: every 1% of the records that was missing moved the published number by up to 0.07; if it is known
    how many there were, say release.present(missing=count); if not, give their share a prior beside the others, such
    as "missing": dist.Beta(1.0, 19.0)
    """
    statistic = release.channel.statistic
    if release.missing is None or isinstance(release.missing, str):
        return None
    if statistic.tallies or (isinstance(release.missing, Mapping) and about_x(statistic) is None):
        return _effect_on_rows(release)
    values = imputed(release)
    assert values is not None
    reach = [
        max(abs(value - low), abs(high - value)) for value, (low, high) in zip(values, statistic.ranges, strict=True)
    ]
    if not any(reach):
        return None  # a count is what it would have been
    if statistic.ranked:
        size = "every 1% of the records that was missing moved it by up to 1% of the ranks"
    elif statistic.averages:
        size = f"every 1% of the records that was missing moved {_moved(statistic, reach, 0.01)}"
    elif statistic.totals:
        size = f"each of them moved {_moved(statistic, reach, 1.0)}"
    elif release.channel.n is not None and statistic.averaged_ranks(release.channel.n) is not None:
        size = f"each of them moved it by up to {statistic.sensitivity(release.channel.n):.3g}"
    else:
        size = f"each of them is off by up to {reach[0]:.3g}"
    known = "if it is known how many there were, say release.present(missing=count); if not, "
    constant = next(iter(release.missing.values())) if isinstance(release.missing, Mapping) else release.missing
    return (
        f"missing values were replaced by {constant:g} before {statistic} was computed, and the model takes "
        f"them for records: {size}; {known if statistic.averages else ''}{UNKNOWN}"
    )


def _effect_on_rows(release: Release) -> str:
    """The same for rows: a row of which something was imputed may be any row that holds these numbers."""
    statistic, constants = release.channel.statistic, release.missing
    named = constants if isinstance(constants, Mapping) else {statistic.columns[0]: constants}
    told = " and ".join(f"{name} by {value:g}" for name, value in named.items())
    if statistic.tallies:
        size = "each such row is counted in the cell of what stood in for its values"
    elif statistic.averages:
        widths = [high - low for low, high in statistic.ranges]
        size = f"every 1% of the rows in which one was missing moved {_moved(statistic, widths, 0.01)}"
    else:
        size = "each such row is another than it would have been"
    return (
        f"missing values were replaced, {told}, before {statistic} was computed, and the model takes such rows for "
        f"rows of the population: {size}"
    )


def _moved(statistic: Statistic, reach: list[float], share: float) -> str:
    """How far a share of the records, or one of them, moves what was published, by component."""
    if len(reach) == 1:
        return f"the published number by up to {share * reach[0]:.3g}"
    parts = [(part, each) for part, each in zip(statistic.transforms, reach, strict=True) if each > 0]
    return f"{statistic.noun} " + ", of ".join(f"{part} by up to {share * each:.3g}" for part, each in parts)


def present(release: Release, missing: int) -> Release:
    """The release of a mean as one of the n − k records that had a value.

    y = (Σ s(xᵢ) + k·s(c))/n + V over the n − k others, so that (n·y − k·s(c))/(n − k) is their mean plus noise of
    n/(n − k) times the scale: the same number, in other units. The guarantee is what it was.
    """
    channel, law = release.channel, release.channel.law
    values, n = imputed(release), channel.n
    try:
        count = -1 if isinstance(missing, bool) else operator.index(missing)
    except TypeError:
        count = -1
    if not 0 <= count < n:
        problem, remedy = "is no number of records below n", f"give a whole number from 0 to {n - 1}"
        raise InvalidArgument("missing", missing, problem, remedy)
    if values is None:
        raise IncompatibleError("the release imputed nothing, so that its n records are those that have a value")
    if not channel.statistic.averages or law.added is None:
        raise IncompatibleError(f"imputed values can be taken out of a mean with additive noise, not of {channel!r}")
    if law.added.step is not None:
        raise IncompatibleError(
            "imputed values cannot be taken out of a release on a lattice, for what is left is on none"
        )
    kind = Laplace if law.added.kinked else Gaussian
    mechanism = kind(scale=float(law.added.scale) * n / (n - count))
    value = (n * np.asarray(release.value) - count * np.asarray(values).reshape(channel.value_shape)) / (n - count)
    told = {name: getattr(release, name) for name in ("dataset", "part", "column", "purpose")}
    return Release(type(channel)(channel.statistic, mechanism, n - count), value, **told)
