"""`make test` has XLA compile in a hurry (see the Makefile). The program that users run must give the same numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import confide as cf

HURRIED = "xla_backend_optimization_level" in os.environ.get("XLA_FLAGS", "")
ABS = ("abs(x)", (-3, 3))
CHANNELS = {
    "spectral": (cf.Mean(*ABS), cf.Laplace(scale=0.05), 100, [0.2, 0.9, 1.4, 30.0]),
    "normal": (cf.Mean(*ABS), cf.Gaussian(scale=0.05), 100, [0.2, 0.9, 1.4, 30.0]),
    "order": (cf.Median(*ABS), cf.Laplace(scale=0.05), 40, [0.2, 0.9, 1.4, 30.0]),
    "records": (cf.Each(*ABS), cf.Laplace(scale=0.5), 3, [[0.2, 0.9, 4.0], [-1.0, 2.0, 0.0]]),
}


def numbers():
    """Log-likelihoods by different routes, near and far from what θ explains."""
    population, found = cf.populations.normal_variance(), {}
    for route, (statistic, mechanism, n, values) in CHANNELS.items():
        model = cf.Model(population, cf.Channel(statistic, mechanism, n))
        found[route] = model.log_likelihood(np.asarray([0.3, 2.0]), np.asarray(values), route=route).tolist()
    return found


@pytest.mark.skipif(not HURRIED, reason="this run compiles as users do")
def test_numbers_do_not_depend_on_how_they_were_compiled():
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    code = "import json; from tests.test_compiled import numbers; print(json.dumps(numbers()))"
    root = Path(__file__).parent.parent
    command = [sys.executable, "-c", code]
    made = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=600, env=environment, cwd=root
    ).stdout
    here, there = numbers(), json.loads(made)
    for name, found in here.items():
        np.testing.assert_allclose(np.asarray(found), np.asarray(there[name]), rtol=1e-9, atol=1e-10, err_msg=name)
