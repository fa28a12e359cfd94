"""What lies beyond the last frequency for a law on a lattice: bounded, and not by so much that all of it must be summed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import confide as cf
from confide.likelihood.inversion.contour import FrequencyGrid, centre, log_of_rest

LAWS = {
    "counts": stats.nbinom(0.7, 0.7 / 1.59).pmf(np.arange(13)),
    "two far apart": np.asarray([0.3, 0.0, 0.0, 0.0, 0.0, 0.7]),
    "even": np.asarray([0.2, 0.0, 0.5, 0.0, 0.3, 1e-9]),
    "wide": stats.poisson(40).pmf(np.arange(120)),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("last", [0.05, 0.4, 1.3])
def test_nothing_in_the_period_exceeds_the_bound(name, last):
    with jax.enable_x64(True):
        weights = jnp.asarray(LAWS[name] / LAWS[name].sum())
        s, frequencies, n = jnp.arange(weights.size, dtype=float), 8, 100.0
        # n·last is the eighth frequency of a grid whose period is that of the lattice
        step = n * last / frequencies
        grid = FrequencyGrid(step, np.pi * n / step)
        bound = float(log_of_rest(centre(s, n, grid, frequencies), weights, n, grid))
        u = jnp.linspace(last, np.pi, 40_001)
        largest = float(jnp.log(jnp.max(jnp.abs(jnp.exp(1j * u[:, None] * s) @ weights))))
    assert bound >= largest - 1e-12
    assert bound <= 0


def test_many_counts_with_wide_noise_need_no_whole_period():
    """Negative binomial counts, of which most are zero: F by finite sums over the law of the sum."""
    n, mean, width, scale = 2019, 0.9, 12, 60.0
    channel = cf.Channel(cf.Mean("x", bounds=(0, width)), cf.Laplace(scale=scale / n), n=n)
    model = cf.Model(cf.populations.negative_binomial(concentration=0.7), channel)
    found = cf.information(model, mean)
    assert found.method == "spectral"
    k = np.arange(width)
    size = 2**16

    def transform(m):
        law = stats.nbinom(0.7, 0.7 / (0.7 + m))
        return np.fft.rfft(np.append(law.pmf(k), law.sf(width - 1)), size)

    h = 1e-4
    change = (8 * (transform(mean + h / 2) - transform(mean - h / 2)) - transform(mean + h) + transform(mean - h)) / (
        6 * h
    )
    v = np.minimum(np.arange(size), size - np.arange(size))
    # p at lattice points and in their middles: noise far wider than a step makes the sum over both a quadrature
    told = 0.0
    for shift in (0.0, 0.5):
        kernel = np.fft.rfft(stats.laplace.pdf(np.where(v == np.arange(size), v - shift, v + shift), scale=scale))
        most = transform(mean) ** (n - 1) * kernel
        p, slope = np.fft.irfft(most * transform(mean), size), np.fft.irfft(n * most * change, size)
        told += 0.5 * np.sum(np.where(p > 1e-15, slope**2 / np.maximum(p, 1e-15), 0.0))
    assert found.matrix.item() == pytest.approx(told, rel=1e-4)
