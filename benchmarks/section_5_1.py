"""Section 5.1 of the paper at its own size: 62,000 chains of 100,000 Metropolis–Hastings steps.

    python benchmarks/section_5_1.py                 everything, on whatever device JAX has
    python benchmarks/section_5_1.py --steps 10000   a tenth of the steps

Releases are simulated first and the loop is compiled on a few steps of the same shape; both are reported apart from the
time of the steps. On a CPU the chains are cut into parts and run on as many threads as there are cores.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np

from confide.paper.gaussian_noise import WALK, released
from confide.paper.metropolis import metropolis
from confide.paper.settings import BOUND, LEVELS, TRUTH, N


def full(steps: int, releases: int) -> dict[str, float]:
    """Simulate, compile, run, and print the times and the errors; returns the times."""
    levels = (*LEVELS, float("inf"))
    begin = time.perf_counter()
    values = {a: np.concatenate([released(a, level, releases) for level in levels]) for a in (1, 2)}
    scales = {a: np.repeat([0.0 if np.isinf(e) else BOUND**a / (N * e) for e in levels], releases) for a in (1, 2)}
    simulated = time.perf_counter() - begin
    print(f"device {jax.devices()[0].device_kind}; releases simulated in {simulated:.1f} s")
    cpu = jax.default_backend() == "cpu"
    threads = len(os.sched_getaffinity(0)) if cpu else 1
    parts = 4 * threads if cpu else 1

    def run(part: tuple[int, np.ndarray, np.ndarray, int], count: int) -> np.ndarray:
        power, value, scale, key = part
        return metropolis(value, scale, power=power, n=N, steps=count, sd=WALK, key=key).mean

    work = [
        (a, value, scale, key)
        for a in (1, 2)
        for key, (value, scale) in enumerate(
            zip(np.array_split(values[a], parts), np.array_split(scales[a], parts), strict=True)
        )
    ]
    begin = time.perf_counter()
    for part in {(each[0], len(each[1])): each for each in work}.values():
        run(part, 80)
    compiled = time.perf_counter() - begin
    print(f"compiled in {compiled:.1f} s")
    begin = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        means = list(pool.map(lambda part: run(part, steps), work))
    seconds = time.perf_counter() - begin
    total = sum(len(each[1]) for each in work) * steps
    print(f"{total:.3g} steps in {seconds:.2f} s: {seconds / total * 1e9:.3f} ns a step")
    for a in (1, 2):
        found = np.concatenate([mean for part, mean in zip(work, means, strict=True) if part[0] == a])
        errors = np.mean((found.reshape(len(levels), -1) - TRUTH) ** 2, axis=1)
        print(f"MSE, a = {a}:", " ".join(f"{e:g}: {m:.3f}" for e, m in zip(levels, errors, strict=True)))
    return {"simulated_s": simulated, "compiled_s": compiled, "steps_s": seconds, "steps_per_s": total / seconds}


def main() -> None:
    """Read the sizes and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=1000)
    asked = parser.parse_args()
    full(asked.steps, asked.releases)


if __name__ == "__main__":
    main()
