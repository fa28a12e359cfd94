"""Studies of a clipped and of an unclipped mean: seconds cold and warm, and their ratio in the same run.

Each runs in a process of its own, first cold (imports and compilation included) and then warm, with other randomness.
"""

import json
import os
import subprocess
import sys

COLD = """
import time
start = time.process_time(), time.perf_counter()
import json, sys
import numpyro.distributions as dist
import confide as cf

low, high = json.loads(sys.argv[1])
channel = cf.Channel(cf.Mean("x", bounds=(low, high)), cf.Laplace(cf.PureDP(1.0)), n=100)
spent, prior = [], {"mean": dist.Normal(0.0, 1.0)}
for key in range(4):
    cf.study(cf.populations.normal_mean(), {"mean": channel}, prior=prior, releases=500, key=key)
    now = time.process_time(), time.perf_counter()
    spent.append([now[0] - start[0], now[1] - start[1]])
    start = now
print(json.dumps(spent))
"""


def measured(bounds):
    """(CPU, wall) seconds of the first study of a process, and the medians of the ones after it."""
    code = [sys.executable, "-c", COLD, json.dumps(bounds)]
    spent = json.loads(subprocess.run(code, capture_output=True, text=True, check=True).stdout)
    warm = sorted(spent[1:])[len(spent[1:]) // 2]
    return spent[0], warm


def main():
    """Print the table."""
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)  # cold is cold
    found = {name: measured(bounds) for name, bounds in (("unclipped", (-8, 8)), ("clipped", (-1, 2)))}
    print(
        f"{'study of 500 releases, n = 100':32s} {'cold CPU s':>12s} {'cold s':>9s} {'warm CPU s':>12s} {'warm s':>9s}"
    )
    for name, (cold, warm) in found.items():
        print(f"{name:32s} {cold[0]:12.2f} {cold[1]:9.2f} {warm[0]:12.2f} {warm[1]:9.2f}")
    ratio = [found["clipped"][i][0] / found["unclipped"][i][0] for i in (0, 1)]
    print(f"clipped / unclipped, CPU: {ratio[0]:.1f} cold (wanted: 3), {ratio[1]:.1f} warm; wanted: 10 s warm")


if __name__ == "__main__":
    main()
