"""Bounds without peeking: what they keep of the information of known bounds, and what CoinPress keeps."""

import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from tests.long.bracketing import POPULATION, PRIOR, RHO, WIDE, N, coinpress, information, of_known_bounds, released


def test_budgets_add_up():
    for privacy in (cf.ZCDP(0.005), cf.GDP(0.3)):
        for rounds in (1, 2, 6):
            plan = cf.bracket(POPULATION, PRIOR, privacy=privacy, n=N, rounds=rounds)
            assert cf.compose(plan.budgets).implies(privacy)
            assert privacy.implies(cf.compose(plan.budgets)) or cf.compose(plan.budgets).implies(privacy)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_bounds_without_peeking_keep_nearly_all_information(seed):
    plan, mean, records = released(seed)
    known = of_known_bounds()
    kept = information([each.channel for each in plan.releases], mean) / known
    assert kept > 0.85
    found = plan.posterior
    assert abs(float(found.mean) - mean) < 6 * float(found.sd)
    # what is said is what the rounds tell
    assert 1 / float(found.sd) ** 2 == pytest.approx(kept * known, rel=0.02)
    _, variance = coinpress(records, 4.75 * WIDE, RHO, 6, np.random.default_rng(seed))
    assert 1 / variance / known < kept - 0.1


def test_what_has_no_bracket():
    with pytest.raises(cf.InvalidArgument, match="Gaussian noise"):
        cf.bracket(POPULATION, PRIOR, privacy=cf.PureDP(1.0), n=N, rounds=6)
    with pytest.raises(cf.InvalidArgument, match="several parameters"):
        prior = {"mean": dist.Normal(0.0, 1.0), "variance": dist.LogNormal(0.0, 1.0)}
        cf.bracket(cf.populations.normal(), prior, privacy=cf.ZCDP(0.1), n=N, rounds=6)
