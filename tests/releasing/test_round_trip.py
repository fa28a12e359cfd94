"""From records to a posterior in another process: 90% intervals cover as often as they say."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import stats

import confide as cf

#: one channel for all data sets, so that the analyst compiles once
CHANNEL = cf.Channel(cf.Mean("abs(x)", (-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100)
#: knows only files, and loads nothing that reads records
ANALYST = textwrap.dedent(
    """
    import json, pathlib, sys
    import numpyro.distributions as dist
    import confide as cf
    population, prior = cf.populations.normal_variance(), {"variance": dist.InverseGamma(3.0, 4.0)}
    intervals, levels = [], []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json"), key=lambda path: int(path.stem)):
        posterior = cf.infer(population, cf.Release.load(path), prior, key=0, method="grid")
        intervals.append([float(end) for end in posterior.interval(0.9)["variance"]])
        levels.append([posterior.exact.theta.tolist(), posterior.exact.cdf.tolist()])
    assert not {"ibis", "duckdb", "opendp", "sqlalchemy"} & set(sys.modules)
    print(json.dumps({"intervals": intervals, "levels": levels}))
    """
)


@pytest.mark.slow
def test_intervals_cover(tmp_path, capsys, count=500):
    chance = np.random.default_rng(0)  # the truths and the records, which are simulated; the noise is real
    truths = 4.0 / chance.gamma(3.0, size=count)
    for index, truth in enumerate(truths):
        records = chance.normal(scale=np.sqrt(truth), size=CHANNEL.n)
        cf.release(CHANNEL, records).save(tmp_path / f"{index}.json")
    command = [sys.executable, "-c", ANALYST, str(tmp_path)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800).stdout)
    low, high = np.asarray(found["intervals"]).T
    inside = int(np.sum((low <= truths) & (truths <= high)))
    # and the truth's place in its posterior is uniform
    at = np.asarray([np.interp(t, theta, cdf) for t, (theta, cdf) in zip(truths, found["levels"], strict=True)])
    with capsys.disabled():
        print(f"\n90% intervals cover {inside} of {count} truths; KS p = {stats.kstest(at, 'uniform').pvalue:.3f}")
    assert stats.binomtest(inside, count, 0.9).pvalue > 1e-6
    assert stats.kstest(at, "uniform").pvalue > 1e-6
