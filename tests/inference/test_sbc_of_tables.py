"""Simulation-based calibration of posteriors from noisy tables: the shares of 4 and 12 cells, a normal family from 10.

`python -m tests.long sbc-tables` has 200 releases of each.
"""

import pytest

from tests.long.checks import ALPHA, TABLES, sbc_of_tables, uneven

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", TABLES)
def test_posteriors_of_tables_are_calibrated(name):
    assert min(uneven(sbc_of_tables(name, 0, 40)["below"])) > ALPHA


def test_noise_that_is_eight_times_as_wide_as_is_believed_is_seen():
    below = sbc_of_tables("normal from 10 cells", 0, 100, noise=24.0, believed=3.0)["below"]
    assert min(uneven(below)) < ALPHA
