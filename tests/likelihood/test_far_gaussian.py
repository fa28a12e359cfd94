"""Values far from all that θ explains, under narrow Gaussian noise: the tilted noise bridges most of the distance."""

import numpy as np
import pytest

import confide as cf
from confide._precision import float64
from confide.likelihood.inversion.frequencies import CUT, in_blocks, plan
from confide.likelihood.slow_inversion.sums import in_sums


@pytest.mark.parametrize(
    ("mechanism", "n"), [(cf.Gaussian(scale=0.067), 500), (cf.Gaussian(scale=0.5, step=0.01), 100)]
)
def test_a_few_frequencies_reach_far_out(mechanism, n):
    """Four in five pairs were given to the sum over the whole lattice, a hundred times as dear."""
    model = cf.Model(cf.populations.poisson(), cf.Channel(cf.Mean("x", (0, 20)), mechanism, n=n))
    thetas = np.geomspace(0.003, 15, 16)[:, None]
    values = np.round(np.linspace(-1.0, 16.0, 18), 2)
    lost = float64(lambda: _compared(model, thetas, values))()
    assert lost < 0.2


def _compared(model, thetas, values):
    """The share of pairs that are left to the sum; the others agree with it."""
    lost = 0
    for group in plan(model, thetas):
        y = np.broadcast_to(values, (len(group.thetas), len(values)))
        log_p, cut = in_blocks(group, group.inversion, group.thetas, y)
        summed, error, _ = in_sums(group, group.thetas, y, scores=False)
        sure = cut < CUT
        both = sure & (error < 1e-9)
        assert np.all(np.abs(log_p - summed)[both] < 2e-9)
        lost += np.count_nonzero(~sure)
    return lost / (len(thetas) * len(values))
