"""From a study to the objects of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confide.errors import InvalidArgument
from confide_cli import words
from confide_cli.priors import example, read_prior
from confide_cli.study import Arguments, UsageProblem

if TYPE_CHECKING:
    from confide.channel import Channel
    from confide.model import Model


def population_of(study: Arguments) -> Any:
    """The population."""
    return words.read_population(study.need("population", "normal_variance"))


def privacy_of(study: Arguments) -> Any:
    """The guarantee, if one is given."""
    text = study.get("privacy")
    return None if text is None else words.read_privacy(text)


def statistic_of(study: Arguments) -> tuple[Any, str]:
    """The one statistic, and its mechanism in words: what is left to be chosen is the privacy or the number."""
    text = study.need("statistic", '"mean abs(x)"')
    if isinstance(text, list):
        if len(text) != 1:
            raise UsageProblem(f"one statistic is needed here, not {len(text)}")
        (text,) = text
    what, bounds, mechanism = words.split_statistic(str(text))
    return _statistic(study, what, bounds), mechanism or study.get("mechanism", "laplace")


def _statistic(study: Arguments, what: str, bounds: list[float] | None) -> Any:
    """What is published, with the bounds of its own or those of all; lists, counts and cells need none."""
    lists = study.get("categories")
    if bounds is None:
        free = lists or what.partition(" ")[0] in ("count", "histogram")
        bounds = study.get("bounds") if free else study.need("bounds", "-10 10")
    return words.read_statistic(what, bounds, lists)


def channels_of(study: Arguments) -> dict[str, Channel]:
    """The channels, by the words of their statistics."""
    from confide.channel import Channel

    given = study.need("statistic", '"mean abs(x)"')
    texts = [given] if isinstance(given, str) else given
    if not all(isinstance(text, str) for text in texts):
        raise UsageProblem("every statistic must be a text, such as mean abs(x)")
    n, privacy = words.read_records(study.need("n", "100")), privacy_of(study)
    channels: dict[str, Channel] = {}
    for text in texts:
        what, bounds, mechanism = words.split_statistic(text)
        statistic = _statistic(study, what, bounds)
        noise = words.read_mechanism(mechanism or study.get("mechanism", "laplace"), privacy)
        if text in channels:
            raise InvalidArgument("--statistic", text, "is given twice", "give every statistic once")
        channels[text] = Channel(statistic, noise, n)
    return channels


def channel_of(study: Arguments) -> Channel:
    """The one channel."""
    channels = channels_of(study)
    if len(channels) != 1:
        raise UsageProblem(f"one statistic is needed here, not {len(channels)}")
    return next(iter(channels.values()))


def models_of(study: Arguments) -> dict[str, Model]:
    """A model for each channel."""
    from confide.model import Model

    population = population_of(study)
    return {name: Model(population, channel) for name, channel in channels_of(study).items()}


def prior_of(study: Arguments, population: Any) -> Any:
    """The prior; where there is none, an example for every parameter that the population has."""
    return read_prior(study.need("prior", " --prior ".join(f'"{example(part)}"' for part in population.space)))


def where_of(study: Arguments, population: Any) -> dict[str, Any]:
    """θ, a grid of them, or a prior: exactly one."""
    theta, prior = study.get("theta"), study.get("prior")
    if (theta is None) == (prior is None):
        priors = " ".join(f'--prior "{example(part)}"' for part in population.space)
        raise UsageProblem(f"give either --theta, such as 2 or 0.1:10:100, or {priors}")
    if theta is not None:
        return {"theta": words.read_theta(theta, population.dimension)}
    return {"prior": read_prior(prior)}


def part_of(text: str | None) -> Any:
    """`rows:0:1000`, `hashed:id:0:0.1`, or a name."""
    from confide.published import Hashed, Rows

    if text is None or not text.startswith(("rows:", "hashed:")):
        return text
    kind, *rest = text.split(":")
    remedy = "write rows:0:1000 or hashed:id:0:0.1"
    if len(rest) != (2 if kind == "rows" else 3):
        raise InvalidArgument("--part", text, "is not a part", remedy)
    start, stop = (words.read_number("--part", each) for each in rest[-2:])
    if kind == "hashed":
        return Hashed(rest[0], start, stop)
    if not (start.is_integer() and stop.is_integer()):
        raise InvalidArgument("--part", text, "is not a part", remedy)
    return Rows(int(start), int(stop))


def assumed_of(study: Arguments) -> dict[str, Any]:
    """The number of records that is assumed where it is private: what verbs that simulate or plan call n."""
    given = study.get("assume")
    if words.read_records(study.need("n", "100")) is None:
        return {} if given is None else {"n": given}
    if given is not None:
        raise UsageProblem("--assume belongs to --n private: leave it out, for n is public")
    return {}
