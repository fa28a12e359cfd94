"""From records to a posterior in another process: 90% intervals cover as often as they say."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import stats

import confide as cf
from confide.releasing import release

CHANNEL = cf.Channel(cf.Mean("abs(x)", (-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100)
#: knows only files: a posterior on a grid of variances, under the prior that the truths are drawn from
ANALYST = textwrap.dedent(
    """
    import json, pathlib, sys
    import numpy as np
    import confide as cf
    from confide.published import Release
    assert not {"ibis", "duckdb", "opendp", "sqlalchemy"} & set(sys.modules)
    grid = np.linspace(0.02, 40, 1000)
    ranks = []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json"), key=lambda path: int(path.stem)):
        published = Release.load(path)
        model = cf.Model(cf.populations.normal_variance(), published.channel)
        log = np.asarray(model.log_likelihood(grid[:, None], published.value)).ravel() - grid / 2
        weight = np.exp(log - log.max())
        ranks.append((np.cumsum(weight) / weight.sum()).tolist())
    print(json.dumps({"grid": grid.tolist(), "ranks": ranks}))
    """
)


@pytest.mark.parametrize("count", [10, pytest.param(500, marks=pytest.mark.slow)])
def test_intervals_cover(count, tmp_path, capsys):
    chance = np.random.default_rng(0)  # the truths and the records, which are simulated; the noise is real
    truths = chance.exponential(2.0, size=count)
    for index, truth in enumerate(truths):
        records = chance.normal(scale=np.sqrt(truth), size=CHANNEL.n)
        release(CHANNEL, records).save(tmp_path / f"{index}.json")
    command = [sys.executable, "-c", ANALYST, str(tmp_path)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=900).stdout)
    at = np.asarray([np.interp(t, found["grid"], ranks) for t, ranks in zip(truths, found["ranks"], strict=True)])
    inside = int(np.sum((at > 0.05) & (at < 0.95)))
    if count > 100:
        with capsys.disabled():
            print(f"\n90% intervals cover {inside} of {count} truths")
    assert stats.binomtest(inside, count, 0.9).pvalue > 1e-6
    assert stats.kstest(at, "uniform").pvalue > 1e-6
