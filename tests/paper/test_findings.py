"""The eight findings of the paper, each at reduced size; a finding that reversed would fail its test.

Deterministic findings (1 to 4) have no error probability. The others compare estimates with a margin of at least 4.7
standard errors on the side that matters, or a factor that the truth exceeds by far: below 1e-5 of false alarms each.
"""

import numpy as np
import pandas as pd
import pytest

import confide as cf
from confide.design.studies.study_cache import StudyCache
from confide.paper import (
    bits,
    examples,
    gaussian_noise,
    laplace_noise,
    mixing,
    order_statistics,
    pilot_release,
    sequential,
)
from confide.paper.posteriors import squares
from confide.paper.ranking import agreement, crossing
from confide.paper.settings import TRUTH, gaussian, laplace, mean

NOWHERE = StudyCache(None)


def winners(population, statistics, theta, bounds, bound):
    curves = examples._powers(population, statistics, np.asarray(theta), None, bounds, bound, None)
    return [examples._winner(each).tolist() for each in curves.values()]


def test_finding_1_x_wins_without_privacy_and_x_cubed_for_large_means_with_it():
    private, open_ = winners(cf.populations.normal_mean(), {"x": ("x", 1.0), "x³": ("x**3", 3.0)}, [1.0, 5.0, 9.0],
                             (0.0, 10.0), 10.0)  # fmt: skip
    assert open_ == ["x", "x", "x"]
    assert private == ["x", "x", "x³"]


def test_finding_2_squares_win_without_privacy_and_absolute_values_with_it():
    statistics = {"|x|": ("abs(x)", 1.0), "x²": ("x**2", 2.0), "|x|³": ("abs(x)**3", 3.0)}
    private, open_ = winners(cf.populations.normal_variance(), statistics, [0.1, 2.0, 10.0], (-10.0, 10.0), 10.0)
    assert open_ == ["x²", "x²", "x²"]
    assert private == ["|x|", "|x|", "|x|"]


def test_finding_3_the_winner_depends_on_the_width():
    statistics = {"0.1": ("abs(x)**0.1", 0.1), "0.5": ("abs(x)**0.5", 0.5), "2": ("x**2", 2.0)}
    private, _ = winners(cf.populations.uniform_width(), statistics, [0.1, 1.0], (-10.0, 10.0), 10.0)
    assert private == ["0.1", "0.5"]


def test_finding_4_responses_beat_noisy_records_and_a_noisy_average_beats_both():
    found = bits._table(np.asarray([0.1, 0.5]), np.asarray([0.05, 0.5, 0.9]), 100, cells=NOWHERE)
    response, averaged, average = found.values()
    assert np.all(response > averaged)
    assert np.all(average > response)


def rows(level, numbers, information):
    return {"epsilon": level, "F": information, "mse": numbers.mse, "mse error": numbers.error}


def agree(one, two):
    return agreement(pd.DataFrame(one), pd.DataFrame(two), "F")


def test_finding_5_gaussian_noise():
    tables = {power: [] for power in (1, 2)}
    for power, table in tables.items():
        for level in (0.5, 1.0, 2.0):
            found = gaussian_noise.chains(power, level, 1000, 1600, proper=True, cells=NOWHERE)
            information = cf.information(mean(power, gaussian(level)), TRUTH, method="normal").matrix[0, 0]
            table.append(rows(level, squares(found["mean"], TRUTH), information))
    found = agree(tables[1], tables[2])
    assert found.holds and found.text == "same ranking at 3 of 3 levels"
    assert not agree([row | {"F": -row["F"]} for row in tables[1]], tables[2]).holds  # the ranking reversed is seen
    assert all(one["mse"] + 4.7 * one["mse error"] < two["mse"] for one, two in zip(tables[1], tables[2], strict=True))
    assert crossing(pd.DataFrame(tables[1]), pd.DataFrame(tables[2]), "F") == "nowhere up to ε = 2"


def test_finding_5_laplace_noise_and_the_known_information():
    numbers = {}
    for at, known in laplace_noise.KNOWN.items():
        numbers[at] = cf.information(mean(at[0], laplace(at[1])), TRUTH, method="normal").matrix[0, 0]
        assert abs(numbers[at] - known) < 6e-5
    tables = {
        power: [
            rows(
                level,
                squares(laplace_noise.pmmh(power, level, 200, 300, 10, cells=NOWHERE)["mean"], TRUTH),
                numbers[power, level],
            )
            for level in (1.0, 2.0)
        ]
        for power in (1, 2)
    }
    assert agree(tables[1], tables[2]).holds
    assert tables[1][0]["mse"] < tables[2][0]["mse"]


def test_finding_5_sequential_release():
    tables = {power: [] for power in (1, 2)}
    for power, table in tables.items():
        found = sequential.exact(power, 3.0, 60, cells=NOWHERE)
        table.append(rows(3.0, squares(found["mean"], TRUTH), float(found["F"])))
    assert agree(tables[1], tables[2]).holds
    assert tables[1][0]["F"] > 2 * tables[2][0]["F"]
    assert tables[1][0]["mse"] < tables[2][0]["mse"]


def test_finding_6_mhaar_mixes_better_with_few_copies_and_the_gap_closes():
    found = {
        (method, copies): mixing._summary(mixing.latent(method, copies, 16, 8000, cells=NOWHERE))
        for method in ("pmmh", "mhaar")
        for copies in (2, 50)
    }
    gap = {copies: found["pmmh", copies][0] - found["mhaar", copies][0] for copies in (2, 50)}
    noise = {copies: np.hypot(found["pmmh", copies][1], found["mhaar", copies][1]) for copies in (2, 50)}
    assert gap[2] > 4.7 * noise[2]
    assert gap[50] < gap[2] - 4.7 * noise[2]
    # both near the floor of MH on the exact likelihood, 15.0
    assert all(abs(found[method, 50][0] / 15.0 - 1) < 0.25 for method in ("pmmh", "mhaar"))


def test_finding_7_the_median_says_more_than_the_maximum():
    found = {
        name: cf.information(order_statistics.model(name), TRUTH, outer=1024) for name in order_statistics.STATISTICS
    }
    median, maximum = found["median"], found["maximum"]
    assert median.matrix[0, 0] - 4.7 * median.standard_error[0, 0] > 10 * maximum.matrix[0, 0]


@pytest.mark.slow
def test_finding_7_the_median_errs_less_than_the_maximum():
    found = {
        name: squares(order_statistics.exact(name, 1000, cells=NOWHERE)["mean"], TRUTH)
        for name in order_statistics.STATISTICS
    }
    assert abs(found["median"].mse - 0.394) < 0.05
    assert abs(found["maximum"].mse - 21) < 4 + 2 * found["maximum"].error
    assert found["maximum"].mse - 4.7 * found["maximum"].error > 10 * found["median"].mse


def test_finding_8_acceptance_of_mhaar_does_not_fall_with_n():
    few, many = (sequential.acceptance(n, 160, 5, cells=NOWHERE) for n in (25, 300))
    assert many["MHAAR"].mean() > 0.8 * few["MHAAR"].mean()
    assert many["PMMH"].mean() < 0.5 * few["PMMH"].mean()


def test_erratum_5_the_wrong_score_adds_seventy_percent():
    from confide.paper import mistakes

    wrong = mistakes.algorithm_1_with_the_wrong_score(2, 0.5, outer=2000, inner=500, key=0)
    assert 1.5 < wrong / 0.2141 < 2.0


@pytest.mark.slow
def test_the_pilot_of_section_5_6_is_the_plan_of_pilot():
    powers = (0.4, 0.6, 1.0)
    plan = pilot_release.plan(powers)
    values = np.asarray([0.1, 2.0])
    chosen, _ = pilot_release.choices(values, powers, NOWHERE)
    for value, index in zip(values, chosen, strict=True):
        assert plan.choose(cf.Release(plan.channel, float(value)), route="normal") == plan.candidates[index]
