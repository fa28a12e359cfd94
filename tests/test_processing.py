"""Numbers that were clamped, rounded or left out: against sums and integrals over what the noisy number may have been."""

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import confide as cf

BERNOULLI, FLAT = cf.populations.bernoulli(), {"probability": dist.Beta(1.0, 1.0)}
THETA = (np.arange(2000) + 0.5) / 2000


def posterior(between, scale, n, step):
    """Mean and sd of a share θ, of which a noisy mean lies between two numbers; on a lattice both are in."""
    k = np.arange(n + 1)
    if step is None:
        noise = stats.laplace(scale=scale)
        mass = noise.cdf(between[1] - k / n) - noise.cdf(between[0] - k / n)
    else:
        points = np.arange(-400, 800) * step
        points = points[(points >= between[0] - 1e-9) & (points <= between[1] + 1e-9)]
        mass = np.exp(-np.abs(points[:, None] - k / n) / scale).sum(axis=0)
    p = np.array([stats.binom.pmf(k, n, t) @ mass for t in THETA])
    mean = p @ THETA / p.sum()
    return mean, np.sqrt(p @ (THETA - mean) ** 2 / p.sum())


@pytest.mark.parametrize(("processed", "value", "between"), [
    (cf.Clamped(0), 0.0, (-np.inf, 0.0)),
    (cf.Clamped(0, 1), 1.0, (1.0, np.inf)),
    (cf.Rounded(0.25), 0.25, (0.125, 0.375)),
    (cf.Suppressed(below=0.2), None, (-np.inf, 0.2)),
])  # fmt: skip
def test_a_share_that_was_processed(processed, value, between):
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.1), n=20)
    found = cf.infer(BERNOULLI, cf.Release(channel, value, processed=processed), FLAT)
    mean, sd = posterior(between, 0.1, 20, None)
    assert found.mean["probability"] == pytest.approx(mean, rel=1e-5)
    assert found.sd["probability"] == pytest.approx(sd, rel=1e-4)


@pytest.mark.parametrize(("processed", "value", "between"), [
    (cf.Clamped(0), 0.0, (-np.inf, 0.0)),
    (cf.Rounded(0.2), 0.4, (0.3, 0.45)),
    (cf.Suppressed(below=0.2), None, (-np.inf, 0.15)),
])  # fmt: skip
def test_on_a_lattice_the_ends_are_points(processed, value, between):
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.1, step=0.05), n=20)
    found = cf.infer(BERNOULLI, cf.Release(channel, value, processed=processed), FLAT)
    mean, sd = posterior(between, 0.1, 20, 0.05)
    assert found.mean["probability"] == pytest.approx(mean, rel=1e-5)
    assert found.sd["probability"] == pytest.approx(sd, rel=1e-4)


def test_what_was_not_touched_is_as_before():
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.1), n=20)
    plain = cf.infer(BERNOULLI, cf.Release(channel, 0.4), FLAT)
    for processed in (cf.Clamped(0), cf.Suppressed(below=0.1)):
        found = cf.infer(BERNOULLI, cf.Release(channel, 0.4, processed=processed), FLAT)
        assert found.mean["probability"] == pytest.approx(plain.mean["probability"], rel=1e-9)


@pytest.mark.parametrize("noise", [cf.Laplace(scale=3.0, step=1), cf.Gaussian(scale=3.0, step=1),
                                   cf.Laplace(scale=3.0), cf.Gaussian(scale=3.0)], ids=str)  # fmt: skip
def test_true_counts_behind_processed_ones(noise):
    """One count from 0, by sums over the noisy numbers, or distribution functions of the noise."""
    counts = np.arange(200)
    points = np.arange(-400, 600)
    law = stats.laplace(scale=3.0) if noise.norm == 1 else stats.norm(scale=3.0)
    for processed, value, between in [(cf.Clamped(0), 0.0, (-np.inf, 0)), (cf.Rounded(10), 20.0, (15, 24)),
                                      (cf.Suppressed(below=5), None, (-np.inf, 4)), (cf.Rounded(10), -10.0, (-15, -6))]:  # fmt: skip
        known = cf.denoise(cf.Release(cf.Channel(cf.Count(), noise), value, processed=processed), nonnegative=True)
        if noise.step is None:
            low, high = processed.lies(float(processed.read(value)))
            weights = law.cdf(high - counts) - law.cdf(low - counts)
        else:
            inside = points[(points >= between[0]) & (points <= between[1])]
            weights = np.exp(law.logpdf(inside[:, None] - counts)).sum(axis=0)
        assert known.mean[0] == pytest.approx(weights @ counts / weights.sum(), rel=1e-8)


def test_totals_may_be_rounded_too():
    cells = cf.Release(cf.Channel(cf.Histogram("x", edges=[0]), cf.Laplace(scale=2.0, step=1)), [30.0, 17.0])
    total = cf.Release(cf.Channel(cf.Count(), cf.Laplace(scale=1.0, step=1)), 50.0, processed=cf.Rounded(10))
    a, b = np.arange(80)[:, None], np.arange(80)[None, :]
    points = np.arange(45, 55)
    told = np.exp(-np.abs(points[:, None] - np.arange(160))).sum(axis=0)
    weights = np.exp(-np.abs(30 - a) / 2 - np.abs(17 - b) / 2) * told[a + b]
    found = cf.denoise(cells, totals=total)
    assert found.mean == pytest.approx(
        [(weights * a).sum() / weights.sum(), (weights * b).sum() / weights.sum()], rel=1e-6
    )


def test_files_have_it(tmp_path):
    cells = cf.Channel(cf.Histogram("x", edges=[0]), cf.Laplace(scale=2.0, step=1))
    one = cf.Channel(cf.Count(), cf.Laplace(scale=2.0, step=1))
    for release in (cf.Release(cells, [30.0, None], processed=cf.Suppressed(below=5)),
                    cf.Release(one, None, processed=cf.Suppressed(below=5)),
                    cf.Release(one, 30.0, processed=cf.Rounded(10)),
                    cf.Release(cells, [0.0, 3.0], processed=cf.Clamped(0))):  # fmt: skip
        release.save(tmp_path / "release.json")
        loaded = cf.Release.load(tmp_path / "release.json")
        assert loaded == release
        assert loaded.processed == release.processed
        assert str(release.processed) in str(release)


def test_what_cannot_be_is_refused():
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.1), n=20)
    count = cf.Channel(cf.Count(), cf.Laplace(scale=2.0, step=1))
    with pytest.raises(cf.InvalidArgument, match="beyond what Clamped"):
        cf.Release(channel, -0.1, processed=cf.Clamped(0))
    with pytest.raises(cf.InvalidArgument, match="not a multiple of 10"):
        cf.Release(count, 12.0, processed=cf.Rounded(10))
    with pytest.raises(cf.InvalidArgument, match="is below 5"):
        cf.Release(count, 3.0, processed=cf.Suppressed(below=5))
    with pytest.raises(cf.InvalidArgument, match="what was done"):
        cf.Release(count, 3.0, processed="rounded")
    for wrong in (cf.Clamped, lambda: cf.Clamped(1, 0), lambda: cf.Rounded(0), lambda: cf.Rounded("ten"),
                  lambda: cf.Suppressed(below=np.nan)):  # fmt: skip
        with pytest.raises(cf.InvalidArgument):
            wrong()
    with pytest.raises(cf.IncompatibleError, match="believed beforehand"):
        cf.denoise(cf.Release(count, 0.0, processed=cf.Clamped(0)))
    with pytest.raises(cf.IncompatibleError, match="simulates what was published"):
        cf.infer(BERNOULLI, cf.Release(channel, 0.0, processed=cf.Clamped(0)), FLAT, method="mhaar")
    with pytest.raises(cf.IncompatibleError, match="confidence sets"):
        cf.estimate(BERNOULLI, cf.Release(channel, 0.0, processed=cf.Clamped(0)))
