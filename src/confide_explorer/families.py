"""The families of populations that the page offers, each with what is usually believed at first.

A record of one column has a family. Rows of several have a form: how their columns hang together, and so which role
each column has. Where columns have nothing to do with each other, a column's role is a family of its own.
"""

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


class Form(NamedTuple):
    """How the columns of a row hang together, and the roles of the first column and of the others.

    No roles: each column has a family. A covariate's first parameter is its coefficient, and its second pair says
    between which values it lies itself with 90% probability: that is assumed, and not learnt.
    """

    words: str
    outcome: Offered | None = None
    covariate: Offered | None = None


_INTERCEPT, _COEFFICIENT = ("intercept", "real", "-1", "1"), ("coefficient", "real", "0", "1")
_COVARIATE = Offered("what it depends on", (_COEFFICIENT, ("values", "assumed", "-2", "2")), ("-4", "4"))
#: `cf.Population` takes any other: a mapping of columns, from Python
FORMS = {
    "independent": Form("columns that have nothing to do with each other"),
    "linear_regression": Form(
        "the first column is a straight line in the others, with scatter",
        Offered("what is explained", (_INTERCEPT, ("variance", "positive", "0.3", "3")), ("-5", "5")),
        _COVARIATE,
    ),
    "logistic_regression": Form(
        "the first column is 1 or 0, more often with the others",
        Offered("what is explained, 1 or 0", (_INTERCEPT,), ("0", "1")),
        _COVARIATE,
    ),
}
#: what is offered for a column, by its role
ROLES = FAMILIES | {
    f"{name}.{part}": offered
    for name, form in FORMS.items()
    for part, offered in (("outcome", form.outcome), ("covariate", form.covariate))
    if offered is not None
}


def role(form: str, family: str, first: bool) -> str:
    """The role of a column: one of `ROLES`, if its form and its family are known.

    >>> role("linear_regression", "normal", first=False), role("independent", "normal", first=True)
    ('linear_regression.covariate', 'normal')
    """
    named = f"{form}.{'outcome' if first else 'covariate'}"
    return named if named in ROLES else family
