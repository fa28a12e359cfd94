"""The cases of `private_numbers` at a small size: minutes on one core; `python -m tests.statistical.private_numbers` for more."""

import numpy as np
import pytest
from scipy import stats

from tests.statistical.private_numbers import CASES, CHUNK, by_ratio, drawn, examined

#: a test that holds fails once in a million runs
ALPHA, STEPS = 1e-6, 4.9
PROBS = (0.5, 0.9, 0.95)


def of(name, releases):
    return np.concatenate([examined(name, first, CHUNK) for first in range(0, releases, CHUNK)])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["drawn, a count and a sum", "drawn, a vector"])
def test_theta_and_n_are_covered_as_promised_where_n_has_a_proper_prior(name):
    rows = of(name, 300)
    for column in rows[:, :2].T:
        assert stats.kstest(column, "uniform").pvalue > ALPHA
    for j, prob in enumerate(PROBS):
        off = STEPS * np.sqrt(prob * (1 - prob) / len(rows))
        assert abs(rows[:, 2 + 3 * j].mean() - prob) < off
        assert rows[:, 3 + 3 * j].mean() > prob - off  # of whole numbers at least


@pytest.mark.slow
def test_a_flat_prior_of_n_covers_badly_at_a_small_theta_and_a_small_n():
    rows = of("fixed, a flat prior of n", 100)
    assert rows[:, 5].mean() < 0.6  # of 90% intervals; 15 of the first 50


@pytest.mark.slow
def test_the_unknown_number_of_awan_and_wang_is_covered():
    """They report coverage .949 and width .164 of 95% intervals."""
    rows = of("Awan and Wang", 400)
    assert rows[:, 8].mean() >= 0.94 - STEPS * np.sqrt(0.06 * 0.94 / 400)
    assert rows[:, 10].mean() <= 0.164


def test_the_classical_ratio_covers_less_than_it_promises():
    """By NumPy, 20,000 times: .861, and no answer in .103."""
    covered, none = by_ratio("drawn, a count and a sum", 3000)
    assert abs(covered - 0.861) < 5 * np.sqrt(0.861 * 0.139 / 3000 + 0.861 * 0.139 / 20_000)
    assert abs(none - 0.1035) < 5 * np.sqrt(0.1035 * 0.8965 / 3000 + 0.1035 * 0.8965 / 20_000)


def test_releases_are_the_same_however_they_are_shared_out():
    case = CASES["fixed, a flat prior of n"]
    whole, part = drawn(case, 0, 2 * CHUNK), drawn(case, CHUNK, CHUNK)
    for one, two in zip(whole, part, strict=True):
        assert np.array_equal(one[CHUNK:], two)
