"""What the long checks say of results that are made up: of good ones yes, and no of bad ones."""

import numpy as np
import pytest

from tests.long.checks import BEST, judge_bracket, judge_published, judge_runs, judge_sbc, no_worse

RNG = np.random.default_rng(0)


def runs(both, epsilon, worse, sigma=0.1, covers=0.9):
    error = worse * RNG.normal(size=400) * np.sqrt(10.0 / (1000 * BEST[epsilon]))
    inside = np.stack([RNG.uniform(size=400) < p * covers / 0.9 for p in (0.5, 0.9, 0.95)])
    return {"both": both, "epsilon": epsilon, "error": error, "sigma": np.full(400, sigma), "inside": inside,
            "seconds": 1.0}  # fmt: skip


@pytest.mark.parametrize(("made", "good"), [
    (runs(False, 1.0, 1.02), True), (runs(False, 1.0, 1.3), False), (runs(True, 2.0, 1.2), True),
    (runs(True, 2.0, 1.5), False), (runs(True, 2.0, 1.2, sigma=0.3), False), (runs(True, 1.0, 1.2, sigma=0.3), True),
    (runs(False, 5.0, 1.0, covers=0.6), False),
])  # fmt: skip
def test_runs(made, good):
    found, lines = judge_runs([made])
    assert found is good or bool(found) is good
    assert len(lines) == 1


def test_published():
    his = [{"epsilon": 1.0, "his": RNG.normal(size=1), "seconds": 1.0} for _ in range(32)]
    for worse, good in ((0.8, True), (1.0, True), (3.0, False)):
        ours = {"epsilon": 1.0, "error": worse * RNG.normal(size=400), "seconds": 1.0}
        assert judge_published([*his, ours])[0] is good
    assert not no_worse(np.full(48, 4.0), RNG.normal(size=24))[0]


def test_sbc_and_bracket():
    uniform = {"name": "a", "below": RNG.uniform(size=(400, 2)), "seconds": 1.0}
    narrow = {"name": "a", "below": RNG.beta(0.6, 0.6, size=(400, 2)), "seconds": 1.0}
    assert judge_sbc([uniform])[0] and not judge_sbc([narrow])[0]
    kept = [{"kept": 0.97, "coinpress": 0.4, "z": z, "seconds": 1.0} for z in (0.3, -1.2, 0.8)]
    assert judge_bracket(kept)[0]
    for bad in ({"kept": 0.8}, {"coinpress": 0.98}, {"z": 9.0}):
        assert not judge_bracket([*kept, kept[0] | bad])[0]
