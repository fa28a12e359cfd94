"""The families of populations that the page offers, each with what is usually believed at first."""

from __future__ import annotations

from typing import NamedTuple


class Offered(NamedTuple):
    """A family in words, the parameters that are learnt with two quantiles each, and bounds to begin with."""

    words: str
    #: each: its name, its kind (real, positive or share), and between which values it lies with 90% probability
    parameters: tuple[tuple[str, str, str, str], ...]
    bounds: tuple[str, str]
    #: the option of the family that is known, and its default
    known: tuple[str, str] | None = None


#: `categorical` has a vector of parameters, which two quantiles do not describe
FAMILIES = {
    "normal_variance": Offered(
        "drawn from a bell curve whose mean is known",
        (("variance", "positive", "1", "8"),),
        ("-10", "10"),
        ("mean", "0"),
    ),
    "normal_mean": Offered(
        "drawn from a bell curve whose variance is known",
        (("mean", "real", "-3", "3"),),
        ("-10", "10"),
        ("variance", "1"),
    ),
    "normal": Offered(
        "drawn from a bell curve", (("mean", "real", "-3", "3"), ("variance", "positive", "1", "8")), ("-10", "10")
    ),
    "lognormal": Offered(
        "a positive number, such as an income or a duration",
        (("loc", "real", "-1", "1"), ("scale", "positive", "0.3", "1.5")),
        ("0.01", "20"),
    ),
    "laplace": Offered(
        "drawn from a peak with heavy tails",
        (("loc", "real", "-3", "3"), ("scale", "positive", "0.5", "3")),
        ("-15", "15"),
    ),
    "uniform_width": Offered("any number between −width and width", (("width", "positive", "1", "8"),), ("-10", "10")),
    "exponential": Offered("a time of waiting", (("rate", "positive", "0.2", "2"),), ("0", "20")),
    "gamma": Offered(
        "a positive number, with a hump",
        (("concentration", "positive", "1", "6"), ("rate", "positive", "0.3", "3")),
        ("0.01", "20"),
    ),
    "beta": Offered(
        "a share, between 0 and 1",
        (("concentration1", "positive", "0.5", "5"), ("concentration0", "positive", "0.5", "5")),
        ("0.01", "0.99"),
    ),
    "bernoulli": Offered("yes (1) or no (0)", (("probability", "share", "0.1", "0.6"),), ("0", "1")),
    "poisson": Offered("a count", (("rate", "positive", "0.5", "6"),), ("0", "20")),
    "negative_binomial": Offered(
        "a count that varies more", (("mean", "positive", "0.5", "6"),), ("0", "40"), ("concentration", "1")
    ),
}
