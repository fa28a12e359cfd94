"""Sums of a private number of records: what they promise, against the distances that records really move them."""

import itertools
import json
import math

import jax
import numpy as np
import pytest

import confide as cf

X = np.linspace(-3, 7, 2001)
VECTORS = [["1", "x"], ["1", "(x - 2) / 5"], ["1", "x", "x**2"], ["x", "where(x > 1, 5, -2)"], ["abs(x)", "exp(-x)"]]


def sizes(statistic, norm):
    with jax.enable_x64(True):
        return np.linalg.norm(np.asarray(statistic.values(X)).reshape(X.size, -1), ord=norm, axis=-1)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("expressions", VECTORS)
def test_sensitivity_is_the_largest_norm(expressions, norm):
    statistic = cf.Sum(expressions, bounds=(-3, 7))
    attained, told = sizes(statistic, norm).max(), statistic.sensitivity(None, norm)
    assert attained <= told * (1 + 1e-15)
    assert told <= attained * (1 + 1e-5)


def test_sensitivity_of_one_expression_is_exact_and_centring_halves_it():
    assert cf.Sum("x", bounds=(0, 10)).sensitivity(None) == 10
    assert cf.Sum("x - 5", bounds=(0, 10)).sensitivity(None) == 5
    assert cf.Sum("x", bounds=(-3, 7)).sensitivity(n=50) == 10
    assert cf.Count().sensitivity(None) == 1


@pytest.mark.parametrize("norm", [1, 2])
def test_rows_of_several_columns(norm):
    statistic = cf.Sum(["1", "a * b", "b"], bounds={"a": (-1, 2), "b": (0, 3)})
    grid = [1 + abs(a * b) + b if norm == 1 else math.sqrt(1 + (a * b) ** 2 + b**2)
            for a, b in itertools.product(np.linspace(-1, 2, 61), np.linspace(0, 3, 61))]  # fmt: skip
    told = statistic.sensitivity(None, norm)
    assert max(grid) <= told <= max(grid) * (1 + 1e-4)


def test_noise_follows_the_relation():
    statistic, mechanism = cf.Sum("x", bounds=(20, 80)), cf.Laplace(cf.PureDP(1.0))
    assert cf.Channel(statistic, mechanism).law.noise.scale == 80
    assert cf.Channel(statistic, mechanism, n=100).law.noise.scale == 60
    both = cf.Channel(cf.Sum(["1", "x"], (0, 3)), cf.Gaussian(cf.GDP(1.0)))
    assert both.law.noise.scale == pytest.approx(math.sqrt(10))


@pytest.mark.parametrize("mechanism", [cf.Laplace(cf.PureDP(1.0), step=1.0), cf.Gaussian(cf.ZCDP(0.5), step=1.0)])
def test_whole_numbers_on_a_whole_lattice_are_not_rounded(mechanism):
    for statistic in (cf.Count(), cf.Sum(["x > 1", "x <= 1"], (0, 3))):
        assert math.isclose(cf.Channel(statistic, mechanism).law.noise.scale, 1.0)


@pytest.mark.parametrize(
    ("statistic", "mechanism", "expected"),
    [
        (cf.Sum("x", (0, 10)), cf.Laplace(cf.PureDP(1.0)), cf.PureDP(1.0)),
        (cf.Sum("x - 5", (0, 10)), cf.Laplace(cf.PureDP(1.0)), cf.PureDP(2.0)),
        (cf.Sum("x - 5", (0, 10)), cf.Laplace(scale=5.0), cf.PureDP(2.0)),
        (cf.Sum("x - 5", (0, 10)), cf.Laplace(cf.ZCDP(0.5)), cf.ZCDP(2.0)),
        (cf.Sum("x - 2", (0, 10)), cf.Gaussian(cf.GDP(0.8)), cf.GDP(1.0)),
        (cf.Sum("x - 5", (0, 10)), cf.Gaussian(cf.ZCDP(0.5)), cf.ZCDP(2.0)),
        (cf.Sum(["x < 1", "x >= 1"], (0, 3)), cf.Laplace(cf.PureDP(1.0)), cf.PureDP(2.0)),
        (cf.Sum(["x < 1", "x >= 1"], (0, 3)), cf.Laplace(cf.PureDP(1.0), step=1), cf.PureDP(2.0)),
        (cf.Sum(["x < 1", "x >= 1"], (0, 3)), cf.Gaussian(cf.ZCDP(0.5)), cf.ZCDP(1.0)),
        (cf.Count(), cf.Laplace(cf.PureDP(0.5)), cf.PureDP(0.5)),
    ],
)
def test_what_it_costs_where_a_record_is_replaced(statistic, mechanism, expected):
    """A sum of s ≥ 0: the same; a histogram: twice in L1, √2 in L2; else group privacy."""
    channel = cf.Channel(statistic, mechanism)
    assert channel.neighbours == "add-remove"
    found = channel.guarantee_between("replace-one")
    assert type(found) is type(expected)
    assert list(vars(found).values()) == pytest.approx(list(vars(expected).values()), rel=1e-5)
    assert cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0)), 5).guarantee_between("add-remove") is None


def test_two_steps_of_an_approximate_guarantee():
    channel = cf.Channel(cf.Sum("x - 5", (0, 10)), cf.Gaussian(cf.ApproxDP(1.0, 1e-6)))
    found = channel.guarantee_between("replace-one")
    assert found.epsilon == 2
    assert found.delta == pytest.approx((1 + math.e) * 1e-6, rel=1e-9)
    weak = cf.Channel(cf.Sum("x - 5", (0, 10)), cf.Gaussian(cf.ApproxDP(1.0, 0.5))).guarantee_between("replace-one")
    assert weak == cf.Unlimited()


@pytest.mark.parametrize(
    ("statistic", "mechanism"),
    [
        (cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0))),
        (cf.Median("x", (0, 1)), cf.Exponential(cf.PureDP(1.0))),
        (cf.Median("x", (0, 1)), cf.SmoothCauchy(cf.PureDP(1.0))),
        (cf.Each("x > 2", (0, 5)), cf.RandomizedResponse(cf.PureDP(1.0))),
    ],
)
def test_others_need_a_public_number(statistic, mechanism):
    with pytest.raises(cf.InvalidArgument, match="the number of records is private"):
        cf.Channel(statistic, mechanism)


def test_a_count_of_a_public_number_is_nothing_to_release():
    with pytest.raises(cf.IncompatibleError, match="there is nothing to release"):
        cf.Channel(cf.Count(), cf.Laplace(cf.PureDP(1.0)), n=100)


def test_files_say_that_it_is_private(tmp_path):
    for channel, value in [
        (cf.Channel(cf.Count(), cf.Laplace(cf.PureDP(1.0))), 12.5),
        (cf.Channel(cf.Sum(["1", "x"], (0, 3)), cf.Gaussian(cf.GDP(1.0), step=1)), [12.0, 20.0]),
        (cf.Channel(cf.Sum("x", (0, 3)), cf.Laplace(cf.PureDP(1.0)), n=7), 9.0),
    ]:
        release = cf.Release(channel, value)
        release.save(tmp_path / "release.json")
        assert cf.Release.load(tmp_path / "release.json") == release
        assert cf.verify(tmp_path / "release.json")
        text = (tmp_path / "release.json").read_text()
        assert ('"n"' in text) == (channel.n is not None)
        form = json.loads(text) | {"provenance": None}
        if channel.n is None:
            form["channel"]["neighbours"] = "replace-one"
        else:
            del form["channel"]["n"]
        (tmp_path / "release.json").write_text(json.dumps(form))
        with pytest.raises(cf.FileError):
            cf.Release.load(tmp_path / "release.json")


def test_files_of_what_was_known_before_keep_their_version(tmp_path):
    cf.Release(cf.Channel(cf.Mean("x", (0, 3)), cf.Laplace(scale=1.0), 7), 1.0).save(tmp_path / "release.json")
    assert '"version": 2' in (tmp_path / "release.json").read_text()


@pytest.mark.parametrize("noise", [cf.Laplace(scale=2.0), cf.Gaussian(scale=3.0), cf.Laplace(scale=2.0, step=1.0)])
def test_a_public_sum_is_n_times_a_mean(noise):
    population, n = cf.populations.poisson(), 40
    step = None if noise.step is None else noise.step / n
    total = cf.Model(population, cf.Channel(cf.Sum("x", (0, 9)), noise, n))
    mean = cf.Model(population, cf.Channel(cf.Mean("x", (0, 9)), type(noise)(scale=noise.scale / n, step=step), n))
    unit = 0.0 if noise.step else math.log(n)
    theta, value = [1.0, 2.0], 70.0
    expected = np.asarray(mean.log_likelihood(theta, value / n)) - unit
    assert np.asarray(total.log_likelihood(theta, value)) == pytest.approx(expected, abs=1e-12)
    assert cf.information(total, 2.0).matrix == pytest.approx(cf.information(mean, 2.0).matrix)


def test_simulation_assumes_a_number():
    model = cf.Model(cf.populations.poisson(), cf.Channel(cf.Sum(["1", "x"], (0, 9)), cf.Laplace(cf.PureDP(5.0))))
    drawn = np.asarray(model.simulate(0, 2.0, (400,), n=300))
    assert drawn.mean(axis=0) == pytest.approx([300, 600], rel=0.01)
    with pytest.raises(cf.InvalidArgument, match="must be assumed"):
        model.simulate(0, 2.0)


def test_budgets_know_their_relation(tmp_path):
    from confide.published.errors import BudgetError
    from confide.releasing.ledger import account

    mean = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0)), n=4)
    total = cf.Channel(cf.Sum("x - 1", (0, 2)), cf.Laplace(cf.PureDP(1.0)))
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("private", budget=cf.PureDP(3.0), neighbours="add-remove")
    book.open("public", budget=cf.PureDP(3.0))
    assert book.neighbours("private") == "add-remove"
    with pytest.raises(BudgetError, match="add-remove"):
        book.open("private", budget=cf.PureDP(3.0))
    with pytest.raises(BudgetError, match="makes the number of records public"):
        cf.release(mean, [0.0, 0.5, 1.0, 1.0], ledger=book, dataset="private")
    private = account.Account("private", cf.PureDP(3.0), "", "", neighbours="add-remove")
    assert account.charged(private, total, None) == cf.PureDP(1.0)
    assert account.charged(account.Account("public", cf.PureDP(3.0), "", ""), total, None) == cf.PureDP(2.0)
    assert "add-remove" in str(book.statement("private"))
