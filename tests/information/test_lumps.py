"""Information of the mean of few records, or of records that sit in atoms: its density comes in lumps.

The reference is the audit's: laws on a lattice by FFT, numeric scores, nothing of the library.
"""

import numpy as np
import pytest

import confide as cf
from tests.audit import oracle
from tests.audit.means import Noise
from tests.audit.populations import FAMILIES
from tests.audit.questions import Question
from tests.audit.statistics import FORMULAS

FAMILY, FORMULA = {f.name: f for f in FAMILIES}, {f.text: f for f in FORMULAS}


@pytest.mark.parametrize(
    ("theta", "text", "bounds", "noise", "n"),
    [
        (-2.0, "x", (1.0, 2.0), Noise("Gaussian", 0.01), 7),  # nearly all records in one atom: lumps far out
        (-2.0, "x*(x > 1)", (-3.0, 3.0), Noise("Laplace", 0.03), 2),
        (1.0, "x**2", (-1.0, 1.0), Noise("Laplace", 0.1), 7),
    ],
)
def test_lumps_are_followed_as_far_as_there_is_mass(theta, text, bounds, noise, n):
    mechanism = getattr(cf, noise.kind)(scale=noise.scale)
    asked = Question(
        "mean", FAMILY["normal mean"], (theta,), FORMULA[text], bounds, n, cf.Mean(text, bounds), mechanism, noise
    )
    expected, error = oracle.information(asked)
    found = cf.information(asked.model, theta)
    assert found.method == "spectral"
    assert np.abs(found.matrix - expected).item() < 1e-5 * expected.item() + 3 * error.item()


def test_few_records_whose_sum_has_a_pole_in_the_middle():
    """x/(1 + x²) has poles of its density at ±½, and of two records' mean at 0: .517062 by an FFT law, to 7e-7."""
    population = FAMILY["logistic"].population
    channel = cf.Channel(cf.Mean("x/(1 + x**2)", (-50, 50)), cf.Laplace(scale=0.01), 2)
    assert cf.information(cf.Model(population, channel), 0.0).matrix[0, 0] == pytest.approx(0.517062, rel=5e-6)
