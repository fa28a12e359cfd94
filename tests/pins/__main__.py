"""Compare the pinned numbers with what the code says now: `python -m tests.pins [--record] [name …]`."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import confide as cf
from tests.pins.models import PINS, Pin

FILE = Path(__file__).parent / "pinned.json"
#: how far a number may move (relative to 1 + its size) where code only moves
TOLERANCE = 1e-12


def numbers(pin: Pin) -> dict[str, list[float]]:
    """log p at each θ, F at the first, and the mean, sd and quartiles of posteriors of the first value."""
    model, found = pin.model, {}
    thetas = pin.thetas if len(pin.thetas[0]) > 1 else [t for (t,) in pin.thetas]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found["log p"] = np.ravel(model.log_likelihood(np.asarray(thetas), np.asarray(pin.values), route=pin.route))
        if pin.information is not None:
            key = {} if pin.information in ("auto", "normal") else {"key": 0}
            found["F"] = np.ravel(cf.information(model, thetas[0], method=pin.information, **key).matrix)
        if pin.prior is not None:
            release = cf.Release(model.channel, pin.values[0])
            for method in pin.methods:
                posterior = cf.infer(pin.population, release, pin.prior, method=method, key=0, **pin.options)
                found[method] = np.ravel([_summary(posterior, name) for name in pin.prior])
    return {name: [float(v) for v in values] for name, values in found.items()}


def _summary(posterior: cf.Posterior, name: str) -> list[float]:
    draws = np.asarray(posterior.draws[name])
    of = lambda value: float(value[name] if isinstance(value, dict) else value)  # noqa: E731
    return [of(posterior.mean), of(posterior.sd), *np.quantile(draws, [0.25, 0.75])]


def moved(name: str, found: dict[str, list[float]], pinned: dict[str, list[float]]) -> list[str]:
    """A line for each kind of number that moved by more than `TOLERANCE`."""
    lines = []
    for kind in sorted(found.keys() | pinned.keys()):
        here, there = np.asarray(found.get(kind, [])), np.asarray(pinned.get(kind, []))
        if here.shape != there.shape:
            lines.append(f"{name}, {kind}: {len(here)} numbers, pinned {len(there)}")
        elif not np.allclose(here, there, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            worst = int(np.argmax(np.abs(here - there) / (1 + np.abs(there))))
            lines.append(f"{name}, {kind}: {here[worst]!r}, pinned {there[worst]!r}")
    return lines


def main() -> int:
    """Compare, or with `--record` write down; the exit status says whether anything moved."""
    parser = argparse.ArgumentParser(prog="python -m tests.pins", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the numbers down")
    parser.add_argument("names", nargs="*", help="only these models")
    arguments = parser.parse_args()
    pinned = json.loads(FILE.read_text()) if FILE.exists() else {}
    lines = []
    for name in arguments.names or PINS:
        start = time.perf_counter()
        try:
            found = numbers(PINS[name])
        except cf.ConfideError as error:
            found, lines = {}, [*lines, f"{name}: refused: {error}"]
        print(f"{time.perf_counter() - start:6.1f} s  {name}", flush=True)
        if not arguments.record:
            lines += moved(name, found, pinned.get(name, {}))
        elif found:
            pinned[name] = found
            FILE.write_text(json.dumps(pinned, indent=1, sort_keys=True) + "\n")
    print("\n".join(lines) or f"{len(arguments.names or PINS)} models hold")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
