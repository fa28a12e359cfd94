"""What vectorises, on whatever device JAX has: `PYTHONPATH=src python3 benchmarks/gpu.py`.

    python3 benchmarks/gpu.py                            Sec 5.1 in full, 10⁶ posteriors, Algorithm 7 with 10⁴ chains
    python3 benchmarks/gpu.py --only methods             every method once, against quadrature
    python3 benchmarks/gpu.py --steps 2000 --posteriors 100000 --chains 256     less of each, for a CPU

Only the library's own requirements are needed. The last line is JSON: seconds, and rates that do not depend on the
sizes, so that a GPU's and a CPU's compare though the CPU did less.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from importlib.metadata import version
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
from section_5_1 import full

import confide as cf
from confide.inference.batch import many_posteriors

VARIANCE = cf.populations.normal_variance()
PRIOR = {"variance": dist.Uniform(0.01, 60.0)}


def where() -> dict[str, Any]:
    """The card and the versions."""
    device = jax.devices()[0]
    names = ("jax", "jaxlib", "numpyro", "equinox", "numpy", "scipy")
    return {
        "device": device.device_kind,
        "platform": device.platform,
        "driver": getattr(device.client, "platform_version", "").replace("\n", " "),
        "python": platform.python_version(),
        **{name: version(name) for name in names},
    }


def posteriors(count: int) -> dict[str, float]:
    """A study: many releases of Sec 5.2's model in one call, and as many over the 62 cells of Sec 5.1."""
    laplace = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
    levels = [*np.arange(0.25, 5.01, 0.25), *np.arange(5.5, 10.01, 0.5), 100.0]
    grid = [
        cf.Channel(cf.Mean(s, bounds=(-10, 10)), cf.Gaussian(cf.GDP(float(level))), n=100)
        for s in ("abs(x)", "x**2")
        for level in levels
    ]
    result = {}
    for name, channels in (("one channel", [laplace]), ("62 channels", grid)):
        models = [cf.Model(VARIANCE, channel) for channel in channels]
        begin = time.perf_counter()
        values = [np.asarray(model.simulate(0, 2.0, (-(-count // len(models)),))) for model in models]
        simulated = time.perf_counter() - begin
        times = []
        for _ in range(2):  # the first compiles
            begin = time.perf_counter()
            found = [many_posteriors([model], [each], PRIOR) for model, each in zip(models, values, strict=True)]
            times.append(time.perf_counter() - begin)
        error = np.mean((np.concatenate([each.mean for each in found]) - 2.0) ** 2)
        print(f"{count:,} posteriors, {name}: {times[1]:.2f} s ({times[0]:.2f} s with compiling)", flush=True)
        print(f"  simulated in {simulated:.1f} s; mean squared error of the posterior mean {error:.4f}", flush=True)
        result |= {f"{name}, cold_s": times[0], f"{name}, warm_s": times[1], f"{name}, per_s": count / times[1]}
    return result


def algorithm_7(chains: int, draws: int) -> dict[str, float]:
    """Many chains on the smooth median of Sec 5.4."""
    mechanism = cf.SmoothLaplace(cf.ApproxDP(5.0, 1e-4))
    release = cf.Release(cf.Channel(cf.Median("abs(x)", bounds=(-10, 10)), mechanism, n=100), 0.954)
    times = []
    for key in range(2):
        begin = time.perf_counter()
        found = cf.infer(
            VARIANCE, release, PRIOR, method="mhaar", copies=2, chains=chains, warmup=500, draws=draws, key=key
        )
        times.append(time.perf_counter() - begin)
    steps, ess = chains * (500 + draws), float(found.diagnostics.ess["variance"])
    print(f"Algorithm 7, {chains:,} chains of {500 + draws} steps: {times[1]:.2f} s ({times[0]:.2f} s with compiling)")
    print(
        f"  {found.mean['variance']:.3f} ± {found.sd['variance']:.3f}, {ess / times[1]:,.0f} effective draws a second"
    )
    return {"cold_s": times[0], "warm_s": times[1], "steps_per_s": steps / times[1], "effective_per_s": ess / times[1]}


def methods() -> dict[str, float]:
    """Every method once: how far its mean is from that of quadrature, in its own Monte Carlo standard errors."""
    mean = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
    each = cf.Channel(cf.Each("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
    median = cf.Channel(cf.Median("abs(x)", bounds=(-10, 10)), cf.SmoothLaplace(cf.ApproxDP(5.0, 1e-4)), n=100)
    releases = {
        "mean": cf.Release(mean, 1.128379),
        "each": cf.Release(each, np.asarray(cf.Model(VARIANCE, each).simulate(0, 2.0))),
        "median": cf.Release(median, 0.954),
    }
    on_z = ("pmmh", "mhaar", "gibbs", "correlated")
    asked = [("mean", method, {}) for method in ("nuts", "mh")]
    asked += [("mean", method, {"latent": "z"}) for method in on_z]
    asked += [(name, method, {}) for name in ("each", "median") for method in on_z]
    exact = {name: cf.infer(VARIANCE, release, PRIOR, method="grid") for name, release in releases.items()}
    result = {}
    for name, method, options in asked:
        chains = 4 if method == "nuts" else 256
        found = cf.infer(VARIANCE, releases[name], PRIOR, method=method, chains=chains, **options)
        error = found.sd["variance"] / np.sqrt(found.diagnostics.ess["variance"])
        off = (found.mean["variance"] - exact[name].mean["variance"]) / error
        result[f"{name}, {method}"] = float(off)
        print(f"{name}, {method}: {found.mean['variance']:.4f}, {off:+.1f} standard errors from quadrature", flush=True)
    return result


def main() -> None:
    """All that is asked for, and a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("section", "posteriors", "chains", "methods"), action="append")
    parser.add_argument("--steps", type=int, default=100_000, help="Metropolis–Hastings steps of each chain of Sec 5.1")
    parser.add_argument("--posteriors", type=int, default=1_000_000)
    parser.add_argument("--chains", type=int, default=10_000)
    parser.add_argument("--draws", type=int, default=500)
    asked = parser.parse_args()
    wanted = asked.only or ("section", "posteriors", "chains")
    result: dict[str, Any] = {"where": where()}
    print(result["where"], flush=True)
    if "section" in wanted:
        result["section 5.1"] = full(asked.steps, 1000)
    if "posteriors" in wanted:
        result["posteriors"] = posteriors(asked.posteriors)
    if "chains" in wanted:
        result["Algorithm 7"] = algorithm_7(asked.chains, asked.draws)
    if "methods" in wanted:
        result["methods"] = methods()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
