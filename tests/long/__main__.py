"""`python -m tests.long [check …] --workers 16`: what each check says, and 1 if one of them says no."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

#: one thread for each process, on the processor
ALONE = {
    "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}  # fmt: skip


def part_of(name: str, given: tuple[Any, ...]) -> tuple[str, Any]:
    """One part of a check, in a process of its own."""
    from tests.long.checks import CHECKS

    return name, CHECKS[name].compute(*given)


def main() -> int:
    """Longest parts first, and all checks side by side."""
    os.environ.update(ALONE)
    from tests.long.checks import CHECKS

    parser = argparse.ArgumentParser(prog="python -m tests.long", description=__doc__)
    parser.add_argument("checks", nargs="*", metavar="check", help=f"some of {', '.join(CHECKS)}; all if none is named")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes side by side")
    parser.add_argument("--scale", type=float, default=1.0, help="how many runs, in units of all that are meant")
    given = parser.parse_args()
    if unknown := [name for name in given.checks if name not in CHECKS]:
        parser.error(f"{unknown[0]} is none of {', '.join(CHECKS)}")
    names = given.checks or list(CHECKS)
    parts = [(name, part) for name in names for part in CHECKS[name].parts(given.scale)]
    start, left = time.perf_counter(), {name: sum(part[0] == name for part in parts) for name in names}
    results: dict[str, list[Any]] = {name: [] for name in names}
    good = True
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(part_of, *part) for part in parts]):
            name, result = done.result()
            results[name].append(result)
            left[name] -= 1
            if left[name] == 0:
                fine, lines = CHECKS[name].judge(results[name])
                good &= fine
                print(
                    f"{name}: {'as it should be' if fine else 'NOT SO'} ({time.perf_counter() - start:.0f} s)",
                    flush=True,
                )
                print("".join(f"  {line}\n" for line in lines), end="", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
