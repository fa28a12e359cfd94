"""Choosing and studying: how long, in seconds. Run each on an idle machine of two cores."""

import subprocess
import sys
import tempfile
import time

import numpy as np
import numpyro.distributions as dist

import confide as cf
from confide.design import optimize, study

COLD = """
import time
start = time.perf_counter()
import confide as cf
from confide.design import optimize
found = optimize(cf.populations.normal_variance(), privacy=cf.{privacy}, n=100, theta=2.0)
row = found.table.iloc[0]
print(f"{{time.perf_counter() - start:.1f}} s; best {{row['statistic']}}, {{row['mechanism']}}: "
      f"normal {{row['normal']:.3f}}, exact {{row['exact']:.3f}}")
"""


def cold(privacy):
    """`optimize` over all families and mechanisms, import and compilation included."""
    code = COLD.format(privacy=privacy)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    print(f"optimize, cold, {privacy}: {result.stdout.strip() or result.stderr.strip()[-300:]}")


def warm():
    """The search alone."""
    start = time.perf_counter()
    optimize(cf.populations.normal_variance(), privacy=cf.GDP(1.0), n=100, theta=2.0, exact=False)
    print(f"optimize, search only: {time.perf_counter() - start:.2f} s")


def section_5_1(route):
    """Sec 5.1's grid: 2 statistics, 31 levels, 1000 releases each; the last level stands for no privacy."""
    levels = [*np.arange(0.25, 5.01, 0.25), *np.arange(5.5, 10.01, 0.5), 100.0]

    def channel(s):
        return cf.Channel(cf.Mean(s, bounds=(-10, 10)), cf.Gaussian(cf.GDP(1.0)), n=100)

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        found = study(
            cf.populations.normal_variance(),
            {"abs": channel("abs(x)"), "square": channel("x**2")},
            prior={"variance": dist.Uniform(0.01, 60.0)},
            theta=2.0,
            privacy=levels,
            releases=1000,
            route=route,
            path=folder,
        )
        spent = time.perf_counter() - start
    table = found.table.pivot(index="level", columns="strategy", values="mse")
    wins = int((table["abs"] < table["square"]).sum())
    print(
        f"study of {1000 * len(found.table):,} posteriors, route {route}: {spent:.1f} s; "
        f"abs(x) errs less than x**2 at {wins} of {len(table)} levels"
    )


def main():
    """Print all."""
    for privacy in ("GDP(1.0)", "PureDP(1.0)"):
        cold(privacy)
    warm()
    for route in sys.argv[1:] or ["auto"]:
        section_5_1(route)


if __name__ == "__main__":
    main()
