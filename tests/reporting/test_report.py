"""Reports: the page stands alone, says the answer, and its script makes the result again."""

import contextlib
import html
import io
import re

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from matplotlib.colors import to_hex

import confide as cf
from confide.plots.chains import chains
from confide.plots.noise import plot_spreads, spread_if_even, spreads
from confide.plots.posterior import curves
from confide.plots.share import bars
from confide.plots.style import BLUE
from confide.reporting import choosing  # noqa: F401  # says what the content of a comparison is
from confide.reporting.content import content
from confide.reporting.promise import in_plain_words
from confide.reporting.script import script
from confide.reporting.source import Unwritable, source

VARIANCE = cf.populations.normal_variance()
PRIOR = {"variance": dist.InverseGamma(2.0, 2.0)}
ABS = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100)
SQUARE = cf.Channel(cf.Mean("x**2", bounds=(-3.2, 3.2)), cf.Laplace(cf.PureDP(1.0)), n=100)


@pytest.fixture(scope="module")
def posterior():
    return cf.infer(VARIANCE, cf.Release(ABS, 1.21), PRIOR, route="normal", key=3)


@pytest.fixture(scope="module")
def chain():
    return cf.infer(VARIANCE, cf.Release(ABS, 1.21), PRIOR, method="mhaar", latent="u", chains=2, warmup=100, draws=100)


@pytest.fixture(scope="module")
def results(posterior, chain):
    models = {"abs": cf.Model(VARIANCE, ABS), "square": cf.Model(VARIANCE, SQUARE)}
    return {
        "comparison": cf.compare(models, theta=np.linspace(1.0, 3.0, 5), method="normal"),
        "list": cf.compare(list(models.values()), prior=PRIOR, criterion="information", method="normal"),
        "optimum": cf.optimize(
            VARIANCE, privacy=cf.GDP(1.0), n=100, theta=2.0, exact=False, families=[cf.families.Power()]
        ),
        "posterior": posterior,
        "chain": chain,
        "release": cf.Release(ABS, 1.21, dataset="people", part=cf.Rows(0, 100)),
    }


def shown(page, name):
    """The text of one of the page's blocks."""
    return html.unescape(re.search(f'<pre id="{name}">(.*?)</pre>', page, flags=re.DOTALL)[1])


@pytest.mark.parametrize(
    ("name", "answer", "pictures"),
    [
        ("comparison", "Best by expected variance: square.", 2),
        ("list", "Best by information", 2),
        ("optimum", "Publish the mean of", 1),
        ("posterior", "with 90% probability between", 1),
        ("chain", "with 90% probability between", 2),
        ("release", "Published: 1.21", 1),
    ],
)
def test_a_page_answers_stands_alone_and_its_script_makes_the_result_again(results, tmp_path, name, answer, pictures):
    result = results[name]
    page = cf.report(result, tmp_path / "page.html", command="confide 'a b'").read_text(encoding="utf-8")
    assert answer in html.unescape(page)
    assert page.count("<img") == pictures
    assert "by a factor of at most" in page
    assert shown(page, "command") == "confide 'a b'"
    assert not re.search(r'(src|href)="(?!data:)|<script|@import|url\(|http', page)
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(shown(page, "script"), {})
    assert stream.getvalue().startswith(str(result))
    assert cf.report(result, tmp_path / "again.html", command="confide 'a b'").read_text(encoding="utf-8") == page


def test_what_only_a_user_knows_is_named_instead_of_a_script(tmp_path):
    from numpyro.distributions import constraints

    mine = cf.Population(dist.Exponential, {"rate": constraints.positive}, "mine")
    channel = cf.Channel(cf.Mean("x", bounds=(0, 4)), cf.Laplace(cf.PureDP(1.0)), n=100)
    found = cf.infer(mine, cf.Release(channel, 1.0), {"rate": dist.Gamma(2.0, 2.0)}, route="normal")
    page = cf.report(found, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "the population mine, which is defined in your own program" in page
    assert 'id="script"' not in page
    with pytest.raises(Unwritable, match="Python function"):
        source(cf.Mean(np.tanh, bounds=(0, 1), range=(0, 1)))


@pytest.mark.parametrize(
    "value",
    [
        cf.populations.normal_mean(variance=0.123456789), cf.populations.categorical(3), cf.populations.gamma(),
        cf.Quantile("abs(x)", 0.123456789, bounds=(-1, 2)), cf.Mean(["x", "x**2"], bounds=(0, 1)),
        cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-6), cap=7), cf.Hashed("id", 0, 0.5), cf.Gaussian(cf.GDP(1.0), step=0.5),
        cf.Release(ABS, 1.21, dataset="people", purpose="a 'test'"),
    ],
)  # fmt: skip
def test_source_reads_back_as_the_value(value):
    assert eval(source(value), {"cf": cf, "np": np, "dist": dist}) == value


def test_source_of_rows_reads_back():
    populations = cf.populations
    for made in (
        populations.independent(age=populations.normal_mean(100.0), smokes=populations.bernoulli()),
        populations.with_missing(populations.independent(age=populations.normal()), "age", 0.0),
        populations.linear_regression("y", {"x": dist.Normal(0.0, 1.0)}),
        populations.logistic_regression("y", ["a", "b"]),
    ):
        assert eval(source(made), {"cf": cf, "np": np, "dist": dist}) == made


def test_source_of_priors_and_arrays():
    made = eval(source({"p": dist.LogNormal(0.7, 0.5), "q": dist.Dirichlet(np.ones(3))}), {"np": np, "dist": dist})
    assert np.float32(made["p"].loc) == np.float32(0.7)
    assert made["q"].concentration.tolist() == [1.0, 1.0, 1.0]
    assert source(np.linspace(0.1, 10, 100)) == "np.linspace(0.1, 10.0, 100)"
    assert "loc=0.7," in source(dist.LogNormal(0.7, 0.5))
    assert source(np.ones(3)) == "np.array([1.0, 1.0, 1.0])"
    with pytest.raises(Unwritable, match="1,000 numbers"):
        source(np.arange(1000) ** 2.0)


def test_releases_of_every_kind_have_a_page(tmp_path):
    bits = cf.Channel(cf.Each("x > 0", bounds=(-2, 2)), cf.RandomizedResponse(cf.PureDP(1.0)), n=300)
    pair = cf.Channel(cf.Mean(["x", "x**2"], bounds=(-2, 2)), cf.Gaussian(cf.GDP(1.0)), n=40)
    median = cf.Channel(cf.Median("x", bounds=(-2, 2)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-5)), n=40)
    for channel, value in ((bits, np.arange(300) % 2), (pair, [0.1, 0.5]), (median, 0.1)):
        page = cf.report(cf.Release(channel, value), tmp_path / "page.html").read_text(encoding="utf-8")
        assert str(channel.n) in page
        assert page.count("<img") == 1


@pytest.mark.parametrize(
    ("path", "problem"),
    [(".", "is a folder"), ("no/where.html", "no such folder"), ("page.pdf", "not the name of a web page")],
)
def test_paths_that_cannot_be_pages(path, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(cf.InvalidArgument, match=problem):
        cf.report(cf.Release(ABS, 1.21), path)


def test_results_that_cannot_be_reported(tmp_path):
    with pytest.raises(cf.InvalidArgument, match="cannot be reported"):
        cf.report(3.0, tmp_path / "page.html")


def test_the_guarantee_in_plain_words_counts_what_an_attacker_gains():
    assert "73.1%" in in_plain_words(cf.PureDP(1.0))  # e/(1 + e)
    assert "69.1%" in in_plain_words(cf.GDP(1.0))  # Φ(1/2)
    assert "probability of at most 1e-05" in in_plain_words(cf.ApproxDP(1.0, 1e-5))
    assert "Nothing is promised" in in_plain_words(cf.Unlimited())


def test_the_likelihood_that_is_drawn_is_the_likelihood(posterior):
    (curve,) = curves(posterior)
    inner = slice(50, -50)
    wanted = np.exp(cf.Model(VARIANCE, ABS).log_likelihood(curve.theta, 1.21, route="normal"))
    ratio = curve.likelihood[inner] / wanted[inner]
    np.testing.assert_allclose(ratio, ratio[0], rtol=2e-3)  # the density is interpolated


def test_ranks_are_flat_for_chains_that_agree_and_not_for_one_that_is_stuck():
    draws = np.random.default_rng(0).normal(size=(4, 2000))
    flat, stuck = chains("x", draws), chains("x", draws + 3 * (np.arange(4) == 0)[:, None])
    assert np.abs(flat.ranks - flat.expected).max() < 0.5 * flat.expected
    assert stuck.ranks[0, 0] == 0
    assert flat.values.shape == (4, 500)
    assert flat.ranks.sum() == draws.size


def test_bars_have_the_order_of_the_table_and_skip_what_does_not_exist():
    drawn = bars(["a", "b", "c"], [0.9, np.nan, 0.95])
    assert [(bar.label, bar.best) for bar in drawn] == [("a", True), ("c", False)]


def test_the_blue_bar_is_the_channel_of_the_headline():
    """Where F grows without bound at one end of θ, a channel may say more on average and still leave more variance."""

    def model(s, bounds):
        return cf.Model(VARIANCE, cf.Channel(cf.Mean(s, bounds=bounds), cf.Laplace(cf.PureDP(1.0)), n=100))

    models = {"narrow": model("abs(x)", (-0.5, 0.5)), "wide": model("x**2", (-6, 6))}
    found = cf.compare(models, theta=[0.05, 0.06, 8.0], method="normal")
    table = found.table
    assert table["efficiency"][found.best] < table["efficiency"].max()
    told = content(found)
    assert told.answer.startswith(f"Best by expected variance: {found.best}.")
    (axis,) = told.pictures[0].figure.axes
    labels = dict(zip(axis.get_yticks(), (each.get_text() for each in axis.get_yticklabels()), strict=True))
    longest = max(axis.patches, key=lambda bar: bar.get_width())
    blue = [bar for bar in axis.patches if to_hex(bar.get_facecolor()).upper() == BLUE]
    assert blue == [longest]
    assert labels[round(longest.get_y() + longest.get_height() / 2)] == found.best


def test_the_noise_alone_covers_ninety_percent():
    ((_, _, _, _, (low, high)),) = spreads(cf.Release(ABS, 1.21))
    assert high - low == pytest.approx(2 * 0.1 * np.log(10), rel=1e-3)
    assert spread_if_even(cf.Release(ABS, 1.21)) is None


@pytest.mark.parametrize(
    "mechanism",
    [cf.SmoothLaplace(cf.ApproxDP(2.0, 1e-6)), cf.SmoothCauchy(cf.PureDP(2.0)), cf.Exponential(cf.PureDP(1.0))],
)
@pytest.mark.parametrize("n", [40, 300])
def test_noise_that_depends_on_records_is_drawn_for_records_that_lie_evenly(mechanism, n):
    channel = cf.Channel(cf.Quantile("x", 0.4, (2, 10)), mechanism, n=n)
    drawn = spread_if_even(cf.Release(channel, 5.0))
    assert spreads(cf.Release(channel, 5.0)) == []
    # the same by simulation, from records that lie in the middles of n cells
    window = channel.summary(2 + 8 * (np.arange(n) + 0.5) / n)
    values = np.asarray(channel.law.sample(jax.random.key(1), np.tile(window, (4000, 1))))
    inside = np.abs(values - window[channel.law.window]) <= drawn.interval[1] - 5.0
    assert abs(inside.mean() - 0.9) < 4.9 * np.sqrt(0.09 / 4000)  # α = 1e-6
    assert np.interp(5.0, drawn.at, drawn.density) == pytest.approx(drawn.density.max(), rel=1e-6)


def test_a_vector_of_many_numbers_has_intervals_and_one_of_few_a_panel_each():
    few = cf.Channel(cf.Mean(["x", "x**2"], (0, 2)), cf.Gaussian(scale=0.1), n=40)
    many = cf.Channel(cf.Mean([f"x > {k}" for k in range(9)], (0, 9)), cf.Gaussian(scale=0.1), n=40)
    panels = plot_spreads(spreads(cf.Release(few, [0.5, 1.5]))).axes
    assert [axis.get_xlabel() for axis in panels] == ["the mean of x, clipped", "the mean of x**2, clipped"]
    (axis,) = plot_spreads(spreads(cf.Release(many, np.linspace(1, 0, 9)))).axes
    low, high = axis.containers[0][2][0].get_segments()[0][:, 1]
    assert high - low == pytest.approx(2 * 1.6449 * 0.1, rel=1e-4)


def test_a_result_remembers_its_call(posterior):
    assert posterior.call.verb == "infer"
    assert posterior.call.arguments["key"] == 3
    assert "key=3" in script(posterior)


def test_the_prior_of_an_entry_of_a_vector_is_drawn():
    """A law for each entry, also of one entry alone, of which a picture could not be drawn; shares have their own."""
    from scipy.stats import beta, norm

    from confide.plots.posterior import _prior

    at = np.linspace(0.1, 0.9, 5)
    one, many = dist.Normal(np.array([0.5]), 0.3).to_event(1), dist.Normal(np.array([0.5, 1.0]), 0.3).to_event(1)
    assert _prior(one, at, 0, 1) == pytest.approx(norm(0.5, 0.3).pdf(at), rel=1e-12)
    assert _prior(many, at, 1, 2) == pytest.approx(norm(1.0, 0.3).pdf(at), rel=1e-12)
    shares = dist.Dirichlet(np.asarray([1.0, 2.0, 3.0]))
    assert _prior(shares, at, 1, 3) == pytest.approx(beta(2.0, 4.0).pdf(at), rel=1e-12)
    assert _prior(dist.MultivariateNormal(np.zeros(2), np.eye(2)), at, 0, 2) is None
