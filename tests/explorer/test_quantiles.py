"""Priors by two quantiles, against SciPy's laws."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from confide.errors import InvalidArgument
from confide_explorer.quantiles import prior_between

LAWS = {"Normal": stats.norm, "LogNormal": lambda m, s: stats.lognorm(s, scale=np.exp(m)), "Beta": stats.beta}


def law(text):
    name, numbers = re.fullmatch(r"(\w+)\((.*)\)", text).groups()
    return LAWS[name](*map(float, numbers.split(",")))


@given(st.sampled_from(["real", "positive", "share"]), st.floats(0.001, 0.97), st.floats(0.005, 0.9))
def test_the_law_has_the_quantiles(kind, low, width):
    high = low + width * (0.999 - low)
    try:
        found = law(prior_between(kind, low, high))
    except InvalidArgument as error:
        # a beta law with an arm at 0 and one at 1 has ends beyond what numbers can tell
        assert kind == "share" and "beta" in str(error)
        return
    # six digits of its numbers are shown
    assert found.cdf([low, high]) == pytest.approx([0.05, 0.95], abs=2e-3 if width < 0.01 else 1e-4)


@pytest.mark.parametrize(
    ("kind", "low", "high"), [("real", 2, 1), ("positive", 0, 1), ("share", 0.1, 1.0), ("real", 1, 1)]
)
def test_ends_that_no_law_has_are_refused(kind, low, high):
    with pytest.raises(InvalidArgument, match="give"):
        prior_between(kind, low, high)
