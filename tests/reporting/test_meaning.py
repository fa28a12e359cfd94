"""A page says what its numbers are about: the clipped statistic, how much is clipped, and what was imputed."""

import html
from dataclasses import replace

import numpy as np
import numpyro.distributions as dist
import pandas
import pytest
from scipy import stats

import confide as cf
from confide.plots.posterior import _smoothed
from confide.published.imputation import effect
from confide.reporting.learning import _told

COSTS = cf.Channel(cf.Mean("x", (0, 20)), cf.Laplace(scale=0.05), n=2000)
RATE = {"rate": dist.LogNormal(-2.3, 0.5)}


def page_of(result, tmp_path):
    return html.unescape(cf.report(result, tmp_path / "page.html").read_text(encoding="utf-8"))


def test_a_release_is_about_the_clipped_records(tmp_path):
    page = page_of(cf.Release(COSTS, 8.6473123456789), tmp_path)
    assert "The noise alone leaves the mean of the clipped records between 8.53 and 8.76 (90%)" in page
    assert "the mean of the records between" not in page
    assert "if records lie outside [0, 20]" in page
    assert "Published: 8.647," in page  # no digit that the noise has long eaten
    assert "8.6473123" not in page.split('<pre id="script">')[0]


def test_a_posterior_says_how_much_is_clipped_and_what_that_does(tmp_path):
    posterior = cf.infer(cf.populations.exponential(), cf.Release(COSTS, 8.647), RATE, route="normal")
    page = page_of(posterior, tmp_path)
    rate = posterior.mean["rate"]
    assert f"{stats.expon.sf(20 * rate):.1%} lies outside [0, 20]" in page
    assert f"would be about {1 / rate:.4g} without clipping" in page
    assert "Inference accounts for that" in page


def test_a_posterior_says_what_it_assumes_and_what_x_is(tmp_path):
    release = cf.Release(COSTS, 8.647, column="cost")
    page = page_of(cf.infer(cf.populations.exponential(), release, RATE, route="normal"), tmp_path)
    assert "over 2,000 records, x being the column cost." in page
    assert (
        "every record is drawn from exponential, by itself; believed beforehand: rate ~ LogNormal(-2.3, 0.5)." in page
    )


def test_imputation_is_on_the_pages(tmp_path):
    release = cf.Release(COSTS, 8.647, missing=3.0)
    assert "every 1% of the records that was missing moved the published number by up to 0.17" in page_of(
        release, tmp_path
    )
    with pytest.warns(cf.ImputationWarning):
        posterior = cf.infer(cf.populations.exponential(), release, RATE, route="normal")
    assert "Missing values were replaced by 3" in page_of(posterior, tmp_path)


def test_a_comparison_says_what_to_expect_in_the_units_of_the_data(tmp_path):
    narrow = cf.Channel(cf.Mean("x", (0, 5)), cf.Laplace(scale=0.0125), n=2000)
    models = {
        name: cf.Model(cf.populations.exponential(), each) for name, each in (("wide", COSTS), ("narrow", narrow))
    }
    found = cf.compare(models, theta=0.1, method="normal")
    row = found.table.loc["wide"]
    assert row["noise ±"] == pytest.approx(0.05 * np.log(10))
    assert row["clipped"] == pytest.approx(np.exp(-2.0))
    assert row["sd rate"] == pytest.approx(row["information"] ** -0.5)
    page = page_of(found, tmp_path)
    for text in (
        "<th>sd rate</th>",
        "<th>noise ±</th>",
        "<th>clipped</th>",
        "13.5%",
        "within ± 0.12 of that statistic",
    ):
        assert text in page


def test_an_optimum_says_so_too():
    families = [cf.families.Clip()]
    found = cf.optimize(
        cf.populations.exponential(), privacy=cf.PureDP(1.0), n=500, theta=0.1, families=families, exact=False
    )
    assert {"sd rate", "noise ±", "clipped"} <= set(found.table.columns)
    assert found.table["noise ±"][0] == found.best.margin()


def test_a_page_for_all_releases_of_a_data_set(tmp_path):
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(3.0))
    for bounds in ((0, 20), (0, 10)):
        channel = cf.Channel(cf.Mean("x", bounds), cf.Laplace(cf.PureDP(1.0)), n=100)
        cf.release(channel, {"cost": np.linspace(0, 30, 100)}, column="cost", ledger=book, dataset="people")
    page = page_of(book.releases("people"), tmp_path)
    assert "2 releases from people" in page
    assert "together they promise each record 2-differential privacy (pure)" in page
    assert page.count(">cost</td>") == 2
    assert "<td>0.46</td>" in page
    script = page.split('<pre id="script">')[1].split("</pre>")[0]
    names = {}
    exec(script, names)
    assert [each.value for each in names["releases"]] == [each.value for each in book.releases("people")]
    with pytest.raises(cf.InvalidArgument, match="list of releases"):
        cf.report([1, 2], tmp_path / "page.html")


def test_many_panels_stand_in_rows():
    from confide.plots.style import empty_figure, panels_of, panels_size

    figure = empty_figure(*panels_size(8))
    assert len(panels_of(figure, 8)) == len(figure.axes) == 8
    assert figure.get_size_inches()[0] < 14


def test_a_vector_says_how_near_its_numbers_are(tmp_path):
    channel = cf.Channel(cf.Mean(["x < 1", "x >= 1"], (0, 3)), cf.Laplace(scale=0.02), n=100)
    page = page_of(cf.Release(channel, [0.31234567, 0.7]), tmp_path)
    assert (
        "The noise alone leaves each number within ± 0.046 of what the share is over the clipped records (90%)" in page
    )
    assert "Published: [0.3123, 0.7]" in page


def test_a_page_of_groups_says_which_is_which_and_what_they_promise_together(tmp_path):
    """Nobody is in two groups of one attribute: together they cost what one of them costs; twice the same does not."""
    statistic = cf.Mean("readmitted", bounds={"readmitted": (0, 1)})
    channel = cf.Channel(statistic, cf.Gaussian(cf.ZCDP(0.01)), n=90)
    men, women = (cf.Release(channel, 0.2, dataset="h", part=cf.Grouped("sex", each)) for each in "mf")
    page = page_of([men, women], tmp_path)
    assert "No record is in two of these groups: together the releases promise each record 0.01-zCDP." in page
    assert "90 (sex = f)" in page
    assert "they promise each record 0.02-zCDP" in page_of([men, men], tmp_path)


def test_a_median_that_is_drawn_between_records_is_not_said_to_be_near_where_they_are_equal(tmp_path):
    channel = cf.Channel(cf.Median("x", (0, 60)), cf.Exponential(cf.PureDP(0.2)), n=3000)
    assert "anywhere in the range where many of them share one value" in page_of(cf.Release(channel, 43.7), tmp_path)


def test_the_mean_of_a_function_is_not_the_mean_of_the_records(tmp_path):
    """The page of a mean of squares said between which numbers "the mean of the clipped records" lies."""
    square = cf.Channel(cf.Mean("x**2", (-3, 3)), cf.Laplace(scale=0.05), n=2000)
    page = page_of(cf.Release(square, 1.36), tmp_path)
    assert "The noise alone leaves the mean of x**2 over the clipped records between" in page
    assert "Published: the mean of x**2 with x clipped to [-3, 3] over 2,000 records, with Laplace noise" in page
    assert "Publish the" not in page
    over = cf.Channel(cf.Mean("x > 6", (0, 20)), cf.Laplace(scale=0.05), n=2000)
    assert "leaves the share of x > 6 over the clipped records between" in page_of(cf.Release(over, 0.2), tmp_path)


@pytest.mark.parametrize("column", ["x", "age"])
def test_what_imputation_did_to_a_histogram_is_told(column, tmp_path):
    """A page, and `infer`, ended in an IndexError, after the release was made and paid for."""
    cells = cf.Channel(cf.Histogram(column, edges=[18, 40, 65]), cf.Laplace(scale=2.0, step=1), n=300)
    missing = 50.0 if column == "x" else {"age": 50.0}
    release = cf.Release(cells, [4.0, 50.0, 200.0, 46.0], missing=missing)
    assert f"Missing values were replaced, {column} by 50, before the histogram" in page_of(release, tmp_path)
    assert "each such row is counted in the cell of what stood in for its values" in page_of(release, tmp_path)


def test_what_imputation_did_to_a_sum_is_told_of_what_it_moved():
    """Of "how many, and the sum of ages" it was told of the first, which it does not move: by up to 0."""
    both = cf.Channel(cf.Sum(["1", "age"], bounds={"age": (0, 80)}), cf.Laplace(scale=20.0))
    assert "each of them moved the sum of age by up to 50" in effect(
        cf.Release(both, [200.0, 9e3], missing={"age": 50})
    )
    assert effect(cf.Release(cf.Channel(cf.Count(), cf.Laplace(scale=2.0)), 200.0, missing=50.0)) is None


def test_parameters_of_different_units_are_not_compared():
    """Of a mean age and a scale of log costs it was said that they are known to ± 0.14 at best and ± 200 at worst."""
    names = ["age_mean", "age_variance", "cost_loc", "cost_scale"]
    values = {"mean": [52.2, 103.0, 6.28, 1.7], "sd": [1.0, 200.0, 0.14, 1.2], "5%": [50.5, 21.0, 6.06, 0.1]}
    told = _told(pandas.DataFrame(values | {"95%": [53.9, 286.0, 6.51, 4.0]}, index=names), names)
    assert "age_mean from 50.5 to 53.9; age_variance from 21 to 286; cost_loc from 6.06 to 6.51; cost_scale" in told


def test_weighed_draws_are_no_chains(tmp_path):
    found = cf.infer(cf.populations.exponential(), cf.Release(COSTS, 8.647), RATE, route="normal")
    page = page_of(replace(found, method="importance", exact=None), tmp_path)
    assert "effective draws" in page
    assert "R-hat" not in page
    assert "How the chains went" not in page


def test_smoothed_draws_of_a_positive_parameter_keep_their_density_at_its_end():
    """A kernel on the parameter's own scale lost half of the density there."""
    draws = np.random.default_rng(1).exponential(1.0, 4000)
    at = np.array([0.02, 0.05, 0.5, 2.0])
    np.testing.assert_allclose(_smoothed(draws, at, dist.HalfNormal(2.0)), np.exp(-at), rtol=0.12)
    both = np.random.default_rng(2).uniform(size=4000)
    np.testing.assert_allclose(_smoothed(both, np.array([0.01, 0.5, 0.99]), dist.Beta(1.0, 1.0)), 1.0, rtol=0.12)
