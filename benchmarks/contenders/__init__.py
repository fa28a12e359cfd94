"""Who is compared. A contender takes a problem and its truth, and returns a function of a key that makes draws.

Settings are those with which a contender does well; the paper's own sizes are kept beside them where they differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Draws(NamedTuple):
    """Draws (chains, draws, d), the share of the time that went into warm-up, and moments where they are integrated.

    `effective` is how many independent ones they are worth, where the contender says so.
    """

    theta: np.ndarray
    warmup: float = 0.0
    steps: int = 0
    mean: np.ndarray | None = None
    sd: np.ndarray | None = None
    effective: float | None = None


class Truth(NamedTuple):
    """Posterior means and standard deviations by quadrature, in the order of the parameters."""

    mean: np.ndarray
    sd: np.ndarray


Run = Callable[[int], Any]


def contender(name: str) -> Callable[..., Run]:
    """A contender by name: imports happen here, so that a process pays for its own contender only."""
    from importlib import import_module

    module, function = WHERE[name]
    return getattr(import_module(f"benchmarks.contenders.{module}"), function)


#: name: (module, function)
WHERE = {
    "auto": ("quadrature", "auto"),
    "Algorithm 5": ("chains", "pmmh_on_u"),
    "Algorithm 6": ("chains", "mhaar_on_u"),
    "Algorithm 7": ("chains", "mhaar_on_windows"),
    "Algorithm 8": ("chains", "mhaar_on_records"),
    "NUTS on (θ, u)": ("nuts", "on_u"),
    "NUTS on (θ, x)": ("nuts", "on_records"),
    "NumPy Algorithm 4": ("printed", "algorithm_4"),
    "NumPy Algorithm 5": ("printed", "algorithm_5"),
    "NumPy Algorithm 6": ("printed", "algorithm_6"),
    "NumPy Algorithm 7, N = 50": ("printed_latent", "algorithm_7"),
    "NumPy Algorithm 7, N = 5": ("printed_latent", "algorithm_7_few"),
    "NumPy Algorithm 8, N = 100": ("printed_latent", "algorithm_8"),
    "NumPy Algorithm 8, N = 10": ("printed_latent", "algorithm_8_few"),
    "information": ("quadrature", "information"),
    "Algorithm 1": ("quadrature", "algorithm_1"),
    "study": ("quadrature", "study"),
    "study, hardly clipped": ("studies", "unclipped"),
    "study, clipped": ("studies", "clipped"),
    "study, exponential median": ("studies", "exponential_median"),
    "infer": ("of_rows", "inferred"),
    "NUTS on (θ, rows)": ("of_rows", "nuts"),
}
