"""What it would take to know something twice as well: a sentence for those who plan the next release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from confide.clipping import releases_of
from confide.design.studies.requiring import Requirement, require
from confide.errors import AccuracyError, ConfideError, IncompatibleError
from confide.posterior import Posterior
from confide.privacy import ApproxDP, Privacy

#: releases that are simulated: the answer is then known to some 2%, and a sentence says two digits
_RELEASES = 256


def halving(posterior: Posterior) -> str:
    """How many records, or how much privacy, would halve the interval, by `require` at what is known now.

    >>> import confide as cf, numpyro.distributions as dist
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Gaussian(cf.ZCDP(0.01)), n=300)
    >>> prior = {"probability": dist.Beta(1.0, 1.0)}
    >>> print(halving(cf.infer(cf.populations.bernoulli(), cf.Release(channel, 0.31), prior)))
    To halve the interval of probability: about 870 records instead of 300 under 0.01-zCDP; or, with 300 records, \
no level: even without noise they leave an sd of 0.026.
    """
    call = posterior.call
    releases = [] if call is None else releases_of(call)
    if call is None or len(releases) != 1 or len(posterior.names) != 1 or posterior.theta.shape[-1] != 1:
        raise IncompatibleError("what would halve an interval is known for one release and one scalar parameter")
    (release,), (name,) = releases, posterior.names
    mechanism, n = release.channel.mechanism, release.channel.n
    privacy = mechanism.privacy
    if privacy is None or getattr(mechanism, "scale", None) is not None:
        raise IncompatibleError(f"{mechanism} is not calibrated to a guarantee, so that none can be asked for instead")

    def asked(**given: Any) -> Requirement:
        found: Requirement = require(
            call.arguments["population"],
            release.channel.statistic,
            lambda level: replace(mechanism, privacy=level),
            sd=0.5 * float(posterior.sd[name]),
            prior=call.arguments["prior"],
            releases=_RELEASES,
            like=posterior,
            route=call.arguments.get("route", "auto"),
            **given,
        )
        return found

    try:
        more = f"about {_two_digits(asked(privacy=privacy).n):,} records instead of {n:,} under {privacy}"
    except AccuracyError:
        more = f"no number of records under {privacy}"
    try:
        level = f"about {_shown(asked(n=n, unit=_unit(privacy)).privacy)} instead of {privacy}"
    except AccuracyError as error:
        level = _nothing(error, name)
    return f"To halve the interval of {name}: {more}; or, with {n:,} records, {level}."


def _unit(privacy: Privacy) -> Any:
    """Guarantees of one number of the same kind."""
    if isinstance(privacy, ApproxDP):
        return lambda epsilon: ApproxDP(epsilon, privacy.delta)
    return type(privacy)


def _two_digits(count: int) -> int:
    """A whole number to two digits, which is what is known of it, upwards."""
    power = 10 ** max(0, len(str(count)) - 2)
    return -(-count // power) * power


def _shown(privacy: Privacy) -> str:
    """A guarantee to two digits."""
    rounded: Any = type(privacy)
    return str(rounded(*(float(f"{value:.2g}") for value in vars(privacy).values())))


def _nothing(error: ConfideError, name: str) -> str:
    left = str(error).partition(f"{name} to ± ")[2].partition(";")[0]
    return f"no level: even without noise they leave an sd of {float(left):.2g}" if left else "no level"
