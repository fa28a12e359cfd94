"""A trimmed mean from records to file: exact sums of ranks in every engine, and neighbours by brute force."""

import itertools
import json
from fractions import Fraction

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy import stats

import confide as cf
from confide.published.schema import StatisticForm
from confide.published.value import Integers, averaged, derive
from confide.releasing.plan import plan_of, squared_sensitivity
from confide.releasing.quantise import StepGrid
from tests.releasing.exactly import numbers, whole_numbers

LAPLACE = cf.Laplace(cf.PureDP(1.0))


def channel(n, trim=0.2, text="x", bounds=(-16, 16), mechanism=LAPLACE):
    return cf.Channel(cf.TrimmedMean(text, trim, bounds), mechanism, n)


@pytest.mark.parametrize(("n", "trim"), [(3, 0.34), (4, 0.25), (5, 0.2), (5, 0.4), (5, 0.1), (1, 0.4)])
def test_one_record_moves_the_sum_by_the_width_and_not_more(n, trim):
    """All tables of n records on four values, and all their neighbours; the largest move is reached."""
    first, last = cf.TrimmedMean("x", trim, (0, 3)).averaged_ranks(n)
    assert first == int(Fraction(str(trim)) * n) + 1 and last == n - first + 1

    def total(table):
        return sum(sorted(table)[first - 1 : last])

    most = 0
    for table in itertools.combinations_with_replacement(range(4), n):
        for place, value in itertools.product(range(n), range(4)):
            most = max(most, abs(total(table) - total((*table[:place], value, *table[place + 1 :]))))
    assert most == 3
    told = plan_of(channel(n, trim, bounds=(0, 3)))
    grid = StepGrid(Fraction(1), (0,), (3,))
    assert squared_sensitivity(told.channel, grid, norm=1) == most**2
    assert told.channel.statistic.sensitivity(n) == pytest.approx(3 / (last - first + 1), rel=1e-15)
    # the planted mistake: leaving as much out and dividing by n would promise too little noise
    assert told.scale / float(told.grid.widths[0]) == pytest.approx(1.0, rel=1e-6)


VALUES = [((37 * i) % 101) / 8 - 6 for i in range(50)] + [1e308, -1e308, 5e-324]


@pytest.mark.parametrize("text", ["x", "abs(x)", "x > 1"])
@pytest.mark.parametrize("source", ["list", "pandas", "csv", "parquet", "postgres"])
def test_sums_of_ranks_are_exact(text, source, request, tmp_path):
    plan = plan_of(channel(len(VALUES), 0.1, text))
    frame = pd.DataFrame({"x": VALUES})
    if source == "postgres":
        asked = request.getfixturevalue("postgres"), "x", request.getfixturevalue("postgres_table")(VALUES)
    else:
        frame.to_csv(tmp_path / "people.csv", index=False)
        frame.to_parquet(tmp_path / "people.parquet")
        asked = {"list": (VALUES,), "pandas": (frame, "x")}.get(source, (tmp_path / f"people.{source}", "x"))
    every = sorted(whole_numbers(plan.channel, plan.grid, x)[0] for x in VALUES)
    assert averaged(plan.channel) == 43
    assert numbers(plan, *asked) == [sum(every[5:48])]


def test_released_numbers_have_the_law_of_the_channel():
    """5,000 published values around the exact one, by Kolmogorov and Smirnov at 1e-6; n for n − 2k would be seen."""
    records = np.random.default_rng(0).normal(size=60)
    asked = channel(60, 0.3, bounds=(-3, 3))
    plan = plan_of(asked)
    exact = np.sort(np.clip(records, -3, 3))[18:42].mean()
    assert abs(cf.release(asked, records).value - exact) < 40 * 6 / 24
    whole = numbers(plan, records)
    found = [derive(asked, Integers(plan.publish(whole), plan.step)) - exact for _ in range(5000)]
    assert float(asked.law.noise.scale) == pytest.approx(6 / 24)
    assert stats.kstest(found, stats.laplace(scale=6 / 24).cdf).pvalue > 1e-6
    assert stats.kstest(found, stats.laplace(scale=6 / 60).cdf).pvalue < 1e-6


def test_a_lattice_of_the_users_own():
    asked = channel(10, 0.25, bounds=(0, 8), mechanism=cf.Gaussian(cf.ZCDP(0.5), step=0.5))
    value = cf.release(asked, np.arange(10.0)).value
    assert float(value / 0.5).is_integer()


def test_the_file_says_it_and_refuses_what_is_none(tmp_path):
    release = cf.release(channel(20, 0.1), np.arange(20.0))
    release.save(tmp_path / "release.json")
    again = cf.Release.load(tmp_path / "release.json")
    assert again.channel == release.channel and again.value == release.value
    form = json.loads((tmp_path / "release.json").read_text())
    assert form["version"] == 3 and form["channel"]["statistic"]["trim"] == 0.1
    for change in ({"trim": 0.5}, {"trim": 0.0}, {"trim": "0.1"}, {"trim": 0.1, "cut": 1}):
        with pytest.raises(ValidationError):
            StatisticForm.model_validate(form["channel"]["statistic"] | change)


def test_latent_inference_and_information_serve_it():
    """Of hardly clipped normal records the trimmed mean is about their mean, with a variance 6% larger."""
    population, asked = cf.populations.normal_mean(), channel(50, 0.1, bounds=(-8, 8), mechanism=cf.Laplace(scale=0.02))
    found = cf.information(cf.Model(population, asked), 0.0, outer=100, inner=100, key=1)
    assert found.method == "replicates" and found.matrix[0, 0] > 25
    posterior = cf.infer(population, cf.Release(asked, 0.3), {"mean": dist.Normal(0.0, 1.0)}, key=1, draws=300)
    assert posterior.method == "mhaar"
    deviation = np.sqrt((1.06 + 50 * 2 * 0.02**2) / 50)
    assert abs(posterior.mean["mean"] - 0.3) < 5 * deviation / np.sqrt(posterior.diagnostics.ess["mean"]) + 0.02


@pytest.mark.parametrize("trim", [0, 0.5, -0.1, "x", float("nan")])
def test_a_share_that_is_none_is_refused(trim):
    with pytest.raises(cf.InvalidArgument, match="trim"):
        cf.TrimmedMean("x", trim, bounds=(0, 1))


def test_it_needs_a_public_number_of_records():
    with pytest.raises(cf.InvalidArgument, match="n"):
        cf.Channel(cf.TrimmedMean("x", 0.1, bounds=(0, 1)), LAPLACE)
    with pytest.raises(cf.IncompatibleError):
        cf.Channel(cf.TrimmedMean("x", 0.1, bounds=(0, 1)), cf.SmoothCauchy(cf.PureDP(1.0)), n=10)
