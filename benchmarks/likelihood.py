"""Likelihoods and information: how fast, as ratios within one run."""

import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np

import confide as cf
from confide.likelihood import inversion, spectral
from confide.likelihood.law import nodes_at, slopes_at


def median_seconds(function, repetitions=7):
    """The median wall time of a warm call, with its range."""
    function()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times), min(times), max(times)


def show(name, seconds, note=""):
    """One line of the table."""
    middle, low, high = seconds
    print(f"{name:64s} {1e3 * middle:10.2f} ms  [{1e3 * low:.2f}, {1e3 * high:.2f}]  {note}")


def section_5_2(epsilon=5.0, n=100):
    """The paper's Sec 5.2 model."""
    channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(epsilon)), n=n)
    return cf.Model(cf.populations.normal_variance(), channel)


def likelihood_and_gradient(model, thetas, y):
    """log p and ∂ log p at many θ, compiled, for one published value."""
    groups = spectral.plan(model, thetas)
    compiled = jax.jit(
        lambda law, inverse, t, v: inversion.invert_with_score(inverse, nodes_at(law, t), slopes_at(law, t), v)
    )
    arguments = [
        (group.law, group.inversion, jnp.asarray(thetas[group.index]), jnp.full((len(group.index), 1), y))
        for group in groups
    ]
    return lambda: [jax.block_until_ready(compiled(*each)) for each in arguments]


def main():
    """Print the table."""
    thetas = np.linspace(1.0, 4.0, 200)[:, None]
    with jax.enable_x64(True):
        for n in (20, 100, 10**4, 10**9):
            spread = 1.0 / np.sqrt(n)
            grid = thetas if n <= 100 else 2.0 + 8 * spread * np.linspace(-1, 1, 200)[:, None]
            call = likelihood_and_gradient(section_5_2(n=n), grid, 1.128379)
            show(f"spectral log-likelihood + gradient, 200 theta, n = {n:.0e}", median_seconds(call))
    model = section_5_2(epsilon=1.0)
    exact = median_seconds(lambda: cf.information(model, 2.0))
    show("information, exact (spectral)", exact)
    monte_carlo = median_seconds(
        lambda: cf.information(model, 2.0, method="importance", outer=1000, inner=1000, key=0), repetitions=3
    )
    found = cf.information(model, 2.0, method="importance", outer=1000, inner=1000, key=0)
    error = float(found.standard_error[0, 0] / found.matrix[0, 0])
    show("information, Algorithm 1 at 1000 x 1000", monte_carlo, f"relative error {error:.1%}")
    print(f"  exact is {monte_carlo[0] / exact[0]:.0f} times faster")


if __name__ == "__main__":
    main()
