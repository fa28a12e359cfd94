"""Algorithms 1, 2 and 3 against the deterministic truth; fixed keys, α about 1e-6 (5 standard errors) unless said."""

import time

import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf

NORMAL = cf.populations.normal_variance()


def model(statistic, mechanism, n=100, population=NORMAL):
    return cf.Model(population, cf.Channel(statistic, mechanism, n))


ABS = model(cf.Mean("abs(x)", (-10, 10)), cf.Laplace(cf.PureDP(1.0)))


def off(found, truth):
    """How many standard errors from the truth."""
    return float(abs(found.matrix[0, 0] - truth) / found.standard_error[0, 0])


def test_algorithm_1_agrees_with_the_normal_method_within_three_standard_errors():
    truth = float(cf.information(ABS, 2.0, method="normal").matrix[0, 0])
    found = cf.information(ABS, 2.0, method="importance", key=1, outer=2000, inner=1000)
    assert off(found, truth) < 3
    assert found.method == "importance"
    assert "±" in str(found)


@pytest.mark.parametrize("inner", [2, 5])
def test_rejection_sampling_is_unbiased_at_any_inner_size(inner):
    truth = float(cf.information(ABS, 2.0, method="normal").matrix[0, 0])
    found = cf.information(ABS, 2.0, method="importance", sampler="rejection", key=2, outer=10_000, inner=inner)
    assert off(found, truth) < 4
    assert found.standard_error[0, 0] < 0.1 * truth


def test_a_planted_bias_is_seen_where_rejection_has_none():
    """Self-normalised weights with five draws are biased by far more than the error of the test above."""
    truth = float(cf.information(ABS, 2.0, method="normal").matrix[0, 0])
    found = cf.information(ABS, 2.0, method="importance", key=2, outer=10_000, inner=5)
    assert off(found, truth) > 5


def test_the_chain_as_inner_loop():
    truth = float(cf.information(ABS, 2.0, method="normal").matrix[0, 0])
    assert off(cf.information(ABS, 2.0, method="importance", sampler="mcmc", key=3, outer=2000, inner=500), truth) < 4


def test_any_proposal_gives_the_same_answer():
    truth = float(cf.information(ABS, 2.0, method="normal").matrix[0, 0])

    def wide(theta):
        return dist.Normal((2 * theta[0] / np.pi) ** 0.5, 0.15)

    found = cf.information(ABS, 2.0, method="importance", proposal=wide, key=4, outer=2000, inner=1000)
    assert off(found, truth) < 4


def test_algorithm_1_for_a_vector_with_gaussian_noise():
    two = model(cf.Mean(["x", "x**2"], (-9, 9)), cf.Gaussian(cf.GDP(1.0)), 200, cf.populations.normal())
    truth = cf.information(two, [0.5, 1.0], method="normal").matrix
    found = cf.information(two, [0.5, 1.0], method="importance", key=5, outer=3000, inner=500)
    assert np.all(np.abs(found.matrix - truth) < 5 * found.standard_error)


def test_algorithm_2_agrees_with_the_exact_information():
    small = model(cf.Mean("abs(x)", (-10, 10)), cf.Laplace(cf.PureDP(1.0)), 20)
    truth = float(cf.information(small, 2.0).matrix[0, 0])
    found = cf.information(small, 2.0, method="replicates", key=6, outer=1500, inner=1000)
    assert off(found, truth) < 4


@pytest.mark.slow
def test_algorithm_2_draws_windows_of_order_statistics():
    """As drawing all records does, and as the pool, with a mechanism that looks at five ranks."""
    mechanism = cf.SmoothLaplace(cf.ApproxDP(3.0, 1e-2), cap=2)
    smooth = model(cf.Median("abs(x)", (-3, 3)), mechanism, 15)
    truth = float(cf.information(smooth, 2.0, method="pool").matrix[0, 0])
    for latent in ("windows", "records"):
        found = cf.information(smooth, 2.0, method="replicates", latent=latent, key=9, outer=1000, inner=400)
        assert off(found, truth) < 4
        assert found.standard_error[0, 0] < 0.1 * truth


@pytest.mark.parametrize(
    ("population", "theta", "statistic", "scale", "n"),
    [
        pytest.param(NORMAL, 2.0, cf.Median("abs(x)", (-3, 3)), 0.003, 10**6, marks=pytest.mark.slow),
        # an atom of clipped records that is often the maximum
        pytest.param(NORMAL, 2.0, cf.Maximum("abs(x)", (-1.5, 1.5)), 0.2, 3, marks=pytest.mark.slow),
        pytest.param(cf.populations.poisson(), 2.5, cf.Median("x", (0, 5)), 0.6, 30, marks=pytest.mark.slow),
    ],
)
def test_windows_of_any_n_of_clipped_records_and_of_counts(population, theta, statistic, scale, n):
    additive = model(statistic, cf.Laplace(scale=scale), n, population)
    truth = float(cf.information(additive, theta, method="order").matrix[0, 0])
    found = cf.information(additive, theta, method="replicates", key=10, outer=2000, inner=500)
    assert off(found, truth) < 4
    assert found.standard_error[0, 0] < 0.1 * truth


def test_algorithm_2_serves_vector_laplace_noise_by_default():
    two = model(cf.Mean(["x", "x**2"], (-4, 4)), cf.Laplace(cf.PureDP(4.0)), 10, cf.populations.normal())
    found = cf.information(two, [0.0, 1.0], key=0, outer=100, inner=100)
    assert found.method == "replicates"
    assert found.matrix.shape == (2, 2)


def test_algorithm_3_paired_is_right_and_as_printed_is_several_times_too_large():
    """Sec 5.5 with a = 2, ε = .5 (erratum 9)."""
    local = model(cf.Each("x**2", (-10, 10)), cf.Laplace(cf.PureDP(0.5)))
    truth = float(cf.information(local, 2.0).matrix[0, 0])
    assert abs(truth - 0.00244) < 2e-5
    paired = cf.information(local, 2.0, method="sequential", key=7, outer=4000, inner=1000)
    assert off(paired, truth) < 3
    printed = cf.information(local, 2.0, method="sequential", key=7, outer=4000, inner=1000, paired=False)
    assert printed.matrix[0, 0] > 4 * truth


def test_algorithm_3_with_another_proposal():
    local = model(cf.Each("abs(x)", (-10, 10)), cf.Laplace(cf.PureDP(2.0)))
    truth = float(cf.information(local, 2.0).matrix[0, 0])
    found = cf.information(
        local, 2.0, method="sequential", key=8, outer=4000, inner=1000, proposal=lambda theta: dist.Normal(0.0, 2.0)
    )
    assert off(found, truth) < 4


@pytest.mark.parametrize(
    ("statistic", "method"),
    [
        (cf.Mean("abs(x)", (-2, 2)), "replicates"),
        (cf.Median("abs(x)", (-2, 2)), "replicates"),
        (cf.Each("abs(x)", (-2, 2)), "sequential"),
    ],
)
def test_a_moving_support_is_refused_in_words(statistic, method):
    uniform = model(statistic, cf.Laplace(cf.PureDP(1.0)), 20, cf.populations.uniform_width())
    with pytest.raises(cf.IncompatibleError, match="support"):
        cf.information(uniform, 1.0, method=method, key=0)


@pytest.mark.parametrize(
    ("statistic", "mechanism", "method"),
    [
        (cf.Median("x", (-2, 2)), cf.Laplace(cf.PureDP(1.0)), "importance"),
        (cf.Mean("x", (-2, 2)), cf.Laplace(cf.PureDP(1.0)), "sequential"),
    ],
)
def test_algorithms_refuse_what_they_do_not_serve(statistic, mechanism, method):
    with pytest.raises(cf.IncompatibleError, match="Algorithm"):
        cf.information(model(statistic, mechanism), 1.0, method=method, key=0)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(cf.InvalidArgument, match="latent"):
        cf.information(ABS, 2.0, method="replicates", latent="ranks")
    with pytest.raises(cf.IncompatibleError, match="records"):
        cf.information(ABS, 2.0, method="replicates", latent="windows")
    with pytest.raises(cf.InvalidArgument, match="options"):
        cf.information(ABS, 2.0, method="replicates", sampler="mcmc")


def test_the_same_key_gives_the_same_estimate():
    first, second, third = (
        cf.information(ABS, 2.0, method="importance", key=key, outer=50, inner=50).matrix[0, 0] for key in (1, 1, 2)
    )
    assert first == second != third


def test_a_histogram_under_laplace_noise_is_refused_before_work_starts():
    """Eight cells of a thousand records ran for eleven minutes and took 5.8 GB."""
    cells = cf.Mean([f"x == {k}" for k in range(8)], bounds=(0, 7))
    model = cf.Model(cf.populations.categorical(8), cf.Channel(cells, cf.Laplace(cf.PureDP(1.0)), n=1000))
    began = time.process_time()
    with pytest.raises(cf.IncompatibleError, match=r"27 minutes of work; use Gaussian noise"):
        cf.information(model, np.full(8, 1 / 8))
    assert time.process_time() - began < 5
