"""`python -m tests.long [check …] --workers 16`: what each check says, and 1 if one of them says no.

What `--save` holds is not computed again: hours of work can be done in pieces.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

#: one thread for each process, on the processor
ALONE = {
    "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}  # fmt: skip


def main() -> int:
    """All parts side by side; a check is judged when its last one is there."""
    os.environ.update(ALONE)
    from tests.long.checks import CHECKS
    from tests.long.parts import computed, name_of, saved

    parser = argparse.ArgumentParser(prog="python -m tests.long", description=__doc__)
    parser.add_argument("checks", nargs="*", metavar="check", help=f"some of {', '.join(CHECKS)}; all if none is named")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes side by side")
    parser.add_argument("--scale", type=float, default=1.0, help="how many runs, in units of all that are meant")
    parser.add_argument("--save", type=Path, help="a file for what was computed, to go on with")
    given = parser.parse_args()
    if unknown := [name for name in given.checks if name not in CHECKS]:
        parser.error(f"{unknown[0]} is none of {', '.join(CHECKS)}")
    parts = {name: CHECKS[name].parts(given.scale) for name in given.checks or CHECKS}
    start, results, good = time.perf_counter(), saved(given.save), True
    left = {name_of(part): part for each in parts.values() for part in each if name_of(part) not in results}

    def judged() -> bool:
        fine = True
        for name in [name for name, each in parts.items() if all(name_of(part) in results for part in each)]:
            mine, lines = CHECKS[name].judge([results[name_of(part)] for part in parts.pop(name)])
            fine &= mine
            print(f"{name}: {'as it should be' if mine else 'NOT SO'} ({time.perf_counter() - start:.0f} s)")
            print("".join(f"  {line}\n" for line in lines), end="", flush=True)
        return fine

    good &= judged()
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(computed, part) for part in left.values()]):
            name, results[name] = done.result()
            if given.save is not None:
                with given.save.open("ab") as file:
                    pickle.dump((name, results[name]), file)
            good &= judged()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
