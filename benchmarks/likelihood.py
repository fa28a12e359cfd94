"""Likelihoods and information: how fast, as ratios within one run.

Pinned to one core, so that CPU time is the time of one core, whatever else the machine does. Wall time is shown beside
it: on a machine that is shared it is the larger one, and only ratios of it mean something.
"""

import os
import statistics
import time

import jax
import numpy as np

import confide as cf
from confide.information.windows import window_scores
from confide.likelihood.inversion import integral
from confide.likelihood.mean import spectral
from confide.likelihood.record_law.moments import nodes_at, slopes_at

NORMAL = cf.populations.normal_variance()


def seconds(function, repetitions=7):
    """The medians of the CPU and of the wall time of a warm call."""
    function()
    cpu, wall = [], []
    for _ in range(repetitions):
        start = time.process_time(), time.perf_counter()
        function()
        cpu.append(time.process_time() - start[0])
        wall.append(time.perf_counter() - start[1])
    return statistics.median(cpu), statistics.median(wall)


def show(name, times, note=""):
    """One line of the table."""
    print(f"{name:66s} {1e3 * times[0]:9.2f} {1e3 * times[1]:9.2f}   {note}", flush=True)


def mean_model(epsilon, n=100):
    """The paper's Sec 5.2 model."""
    return cf.Model(NORMAL, cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(epsilon)), n=n))


def median_model(n=100, **options):
    """The paper's Sec 5.4 model."""
    mechanism = cf.SmoothLaplace(cf.ApproxDP(5.0, 1.0 / n**2), **options)
    return cf.Model(NORMAL, cf.Channel(cf.Median("abs(x)", bounds=(-10, 10)), mechanism, n=n))


def likelihood_and_gradient():
    """log p and ∂ log p at 200 θ, for one published value."""

    def found(law, inverse, t, v):
        return integral.invert_with_score(inverse, nodes_at(law, t), slopes_at(law, t), v)

    for n in (20, 100, 10**4, 10**9):
        grid = np.linspace(1.0, 4.0, 200) if n <= 100 else 2.0 + 8.0 / np.sqrt(n) * np.linspace(-1, 1, 200)
        thetas = grid[:, None]
        with jax.enable_x64(True):
            arguments = [
                (
                    group.law,
                    group.inversion,
                    thetas[group.index],
                    np.full((len(group.index), 1, 1), 1.128379),
                )
                for group in spectral.plan(mean_model(5.0, n), thetas)
            ]
            times = seconds(lambda: [jax.block_until_ready(found(*each)) for each in arguments], 21)  # noqa: B023
        show(f"spectral log-likelihood + gradient, 200 theta, n = {n:.0e}", times, "wanted: 5 ms")


def exact_against_algorithm_1():
    """Sec 5.2: the information by inversion and by importance sampling, with their errors."""
    model = mean_model(1.0)
    exact = cf.information(model, 2.0).matrix[0, 0]
    # the same integral over y by the trapezoidal rule, from scores by differences of the log-likelihood
    y, h = np.linspace(-4.0, 6.0, 20_001), 1e-3
    low, before, after, high = model.log_likelihood(2.0 + h * np.asarray([-2, -1, 1, 2]), y)
    score = (low - 8 * before + 8 * after - high) / (12 * h)
    again = np.trapezoid(score**2 * np.exp(model.log_likelihood(2.0, y)), y)
    fast = seconds(lambda: cf.information(model, 2.0))
    show("information of Sec 5.2, exact (spectral)", fast, f"relative error {abs(exact / again - 1):.0e}")
    sizes = {"method": "importance", "outer": 1000, "inner": 1000, "key": 0}
    found = cf.information(model, 2.0, **sizes)
    slow = seconds(lambda: cf.information(model, 2.0, **sizes), 3)
    show("information of Sec 5.2, Algorithm 1 at 1000 x 1000", slow,
         f"relative error {found.standard_error[0, 0] / found.matrix[0, 0]:.1%}")  # fmt: skip
    print(f"  exact is {slow[0] / fast[0]:.1f} times faster by CPU time, {slow[1] / fast[1]:.1f} by the clock")


def smooth_median():
    """Sec 5.4: the information of the median from a pool of windows."""
    model = median_model()
    for size in (2**12, 2**13, 2**14):
        found = cf.information(model, 2.0, outer=size)
        times = seconds(lambda: cf.information(model, 2.0, outer=size), 3)  # noqa: B023
        error = found.standard_error[0, 0] / found.matrix[0, 0]
        show(
            f"information of the Sec 5.4 median, {size} windows",
            times,
            f"standard error {error:.2%}; wanted: 1% in 500 ms",
        )


def windows():
    """Algorithm 2 on windows of 41 ranks: drawing, their values, their scores and weights."""
    cost = {}
    keys = jax.random.split(jax.random.key(0), 20)
    with jax.enable_x64(True):
        for n in (100, 10**6):
            scores, prepare, _ = window_scores(median_model(n, cap=20), 1000)
            table = prepare(np.asarray([2.0]))
            both = jax.jit(jax.vmap(scores, in_axes=(0, None)))
            cost[n] = seconds(lambda: jax.block_until_ready(both(keys, table)))  # noqa: B023
            show(f"40,000 windows of 41 ranks, n = {n:.0e}", cost[n], f"{cost[n][0] / 40_000 * 1e6:.1f} us a window")
    print(f"  n = 10^6 costs {cost[10**6][0] / cost[100][0]:.2f} times n = 100 by CPU time; wanted: 1.5 or less")


def main():
    """Print the table."""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    print(f"{'':66s} {'CPU ms':>9s} {'wall ms':>9s}")
    for part in (likelihood_and_gradient, exact_against_algorithm_1, smooth_median, windows):
        part()


if __name__ == "__main__":
    main()
