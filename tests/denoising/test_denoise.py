"""True counts: against enumeration, dense least squares, and coverage by sums over all published numbers."""

import itertools

import numpy as np
import pytest

import confide as cf

CELLS = cf.Histogram("x", edges=[0.5, 1.5])
Y = [3.0, 7.0, -2.0]


def enumerated(y, scale, *, total=None, lowest=-40, noisy=None):
    """Mean and sd of three counts with Laplace noise, over all tables."""
    counts = np.array(list(itertools.product(range(lowest, 41), repeat=3)), dtype=float)
    if total is not None:
        counts = counts[counts.sum(axis=1) == total]
    log_p = -np.abs(y - counts).sum(axis=1) / scale
    if noisy is not None:
        log_p -= np.abs(noisy[0] - counts.sum(axis=1)) / noisy[1]
    weights = np.exp(log_p - log_p.max())
    weights /= weights.sum()
    mean = weights @ counts
    return mean, np.sqrt(weights @ (counts - mean) ** 2)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("step", [1, None])
def test_cells_that_add_up_are_as_enumerated(nonnegative, step):
    known = cf.denoise(
        cf.Release(cf.Channel(CELLS, cf.Laplace(scale=1.5, step=step), n=12), Y), nonnegative=nonnegative
    )
    mean, sd = enumerated(np.array(Y), 1.5, total=12, lowest=0 if nonnegative else -40)
    assert known.mean == pytest.approx(mean, abs=1e-9)
    assert known.sd == pytest.approx(sd, abs=1e-9)
    assert ("from 0" in known.prior) == nonnegative and "12" in known.totals


@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_noisy_total_is_as_enumerated(nonnegative):
    leaf = cf.Release(cf.Channel(CELLS, cf.Laplace(scale=1.5, step=1)), Y)
    total = cf.Release(cf.Channel(cf.Count(), cf.Laplace(scale=1.0, step=1)), 10.0)
    known = cf.denoise(leaf, totals=total, nonnegative=nonnegative)
    mean, sd = enumerated(np.array(Y), 1.5, lowest=0 if nonnegative else -40, noisy=(10.0, 1.0))
    assert known.mean == pytest.approx(mean, abs=1e-9)
    assert known.sd == pytest.approx(sd, abs=1e-9)


def test_a_tree_of_gaussian_noise_is_dense_least_squares():
    rng = np.random.default_rng(0)
    cells = {"r": ["a", "b"], "c": ["u", "v", "w"]}
    leaf, middle = cf.Histogram(["c", "r"], categories=cells), cf.Histogram("r", categories=cells["r"])
    values = rng.normal(50, 20, 12), rng.normal(200, 30, 3), np.array([600.0])
    scales = 5.0, 3.0, 2.0
    known = cf.denoise(
        cf.Release(cf.Channel(leaf, cf.Gaussian(scale=5.0)), values[0]),
        totals=[
            cf.Release(cf.Channel(cf.Count(), cf.Gaussian(scale=2.0)), 600.0),
            cf.Release(cf.Channel(middle, cf.Gaussian(scale=3.0)), values[1]),
        ],
    )
    sums = np.vstack([np.eye(12), np.tile(np.eye(3), 4), np.ones((1, 12))])
    weights = np.concatenate([np.full(len(y), 1 / scale**2) for y, scale in zip(values, scales, strict=True)])
    covariance = np.linalg.inv(sums.T @ (weights[:, None] * sums))
    assert known.mean == pytest.approx(covariance @ (sums.T @ (weights * np.concatenate(values))), abs=1e-10)
    assert known.sd == pytest.approx(np.sqrt(np.diag(covariance)), abs=1e-10)
    drawn = np.stack([known.draws[name] for name in known.cells], axis=1)
    # 10,000 draws: six standard errors of a mean and of a variance
    assert np.all(np.abs(drawn.mean(axis=0) - known.mean) < 0.06 * known.sd)
    assert np.all(np.abs(drawn.var(axis=0) / known.sd**2 - 1) < 6 * np.sqrt(2 / 10_000) + 0.01)
    assert np.all(known.sd < 5.0)  # never wider than the noise alone


@pytest.mark.parametrize("scale", [1.0, 10.0, 20.0])
@pytest.mark.parametrize("true", [0, 3, 100])
def test_flat_intervals_cover_whatever_the_true_count(scale, true):
    """By a sum over all published numbers."""
    y = np.arange(true - int(25 * scale), true + int(25 * scale) + 1.0)
    mass = np.exp(-np.abs(y - true) / scale)
    channel = cf.Channel(cf.Count(), cf.Laplace(scale=scale, step=1))
    low, high = cf.denoise(cf.Release(channel, 0.0)).interval(0.9)[0]  # it moves with y
    assert mass @ ((y + low <= true) & (true <= y + high)) / mass.sum() >= 0.9
    moved = cf.denoise(cf.Release(channel, 7.0)).interval(0.9)[0]
    assert moved.tolist() == [low + 7, high + 7]


@pytest.mark.parametrize(("scale", "tails", "shortest"), [(10.0, 0.65, 0.92), (20.0, 0.0, 0.91)])
def test_counts_from_zero_mislead_at_an_empty_cell(scale, tails, shortest):
    """Intervals between equal tails leave out the lowest counts, and so a true 0; the shortest do not."""
    y = np.arange(-25 * scale, 25 * scale + 1)
    mass = np.exp(-np.abs(y) / scale)
    channel, covered = cf.Channel(cf.Count(), cf.Laplace(scale=scale, step=1)), []
    for each in y:
        known = cf.denoise(cf.Release(channel, each), nonnegative=True)
        p = known.masses[0].p / known.masses[0].p.sum()
        covered.append((known.masses[0].first == 0 and p[0] >= 0.05, known.interval(0.9)[0, 0] == 0))
    found = mass @ np.array(covered) / mass.sum()
    assert found == pytest.approx([tails, shortest], abs=0.01)


def test_a_prior_is_named_and_used():
    import numpyro.distributions as dist
    from scipy import stats

    known = cf.denoise(cf.Release(cf.Channel(cf.Count(), cf.Laplace(scale=2.0, step=1)), 5.0), prior=dist.Poisson(3.0))
    counts = np.arange(60)
    weights = stats.poisson.pmf(counts, 3.0) * np.exp(-np.abs(counts - 5) / 2)
    assert known.mean[0] == pytest.approx(weights @ counts / weights.sum(), rel=1e-9)
    assert "Poisson" in str(known)


def test_statements_about_cells():
    table = cf.Histogram(["sex", "ward"], categories={"sex": ["f", "m"], "ward": ["A"]})
    known = cf.denoise(cf.Release(cf.Channel(table, cf.Laplace(scale=1.0, step=1)), [9.0, 2, 3, 4, 5, 6]))
    assert known.probability("sex=f, ward=A > sex=m, ward=A + 3") == pytest.approx(
        np.mean(known.draws["sex=f, ward=A"] > known.draws["sex=m, ward=A"] + 3)
    )


def test_quantiles_of_the_records_lie_between_edges():
    """Against the cell of the rank in each of all tables, by enumeration."""
    known = cf.denoise(cf.Release(cf.Channel(CELLS, cf.Laplace(scale=1.5, step=1), n=12), Y))
    counts = np.array(list(itertools.product(range(-40, 53), repeat=2)), dtype=float)
    counts = np.column_stack([counts, 12 - counts.sum(axis=1)])
    p = np.exp(-np.abs(np.array(Y) - counts).sum(axis=1) / 1.5)
    place = np.argmax(np.cumsum(counts, axis=1) >= 6, axis=1)
    share = np.array([p[place == cell].sum() for cell in range(3)]) / p.sum()
    assert known.quantile(0.5, float(share[1]) - 0.03) == (0.5, 1.5)
    wider = (0.5, np.inf) if share[2] > share[0] else (-np.inf, 1.5)
    assert known.quantile(0.5, float(share[1]) + 0.03) == wider
    with pytest.raises(cf.IncompatibleError, match="cells of one column"):
        cf.denoise(cf.Release(cf.Channel(cf.Count(), cf.Laplace(scale=1.0)), 3.0)).quantile(0.5)
    with pytest.raises(cf.InvalidArgument):
        known.quantile(1.5)


def test_what_makes_no_tree_is_refused():
    cells = {"sex": ["f", "m"], "ward": ["A"]}
    noise = cf.Laplace(scale=1.0, step=1)
    table = cf.Release(cf.Channel(cf.Histogram(["sex", "ward"], categories=cells), noise), np.zeros(6))
    one, two = (
        cf.Release(cf.Channel(cf.Histogram(name, categories=cells[name]), noise), np.zeros(len(cells[name]) + 1))
        for name in cells
    )
    with pytest.raises(cf.IncompatibleError, match="cross"):
        cf.denoise(table, totals=[one, two])
    with pytest.raises(cf.InvalidArgument, match="other cells"):
        cf.denoise(one, totals=two)
    with pytest.raises(cf.IncompatibleError, match="no count"):
        cf.denoise(cf.Release(cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.1), 5), 0.4))
    with pytest.raises(cf.InvalidArgument, match="add up"):
        cf.denoise(cf.Release(cf.Channel(CELLS, noise, 12), Y), totals=13)
    with pytest.raises(cf.InvalidArgument, match="no total"):
        cf.denoise(table, totals=1.5)
