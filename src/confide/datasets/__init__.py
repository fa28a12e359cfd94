"""Real tables to try things on, shipped with the package. Their sources and licences stand beside the files."""

from __future__ import annotations

from pathlib import Path


def doctor_visits() -> Path:
    """A CSV file of 2,019 people: doctor visits in a year, an index of chronic diseases, and whether health is poor.

    From the RAND Health Insurance Experiment (1974 to 1982), in the public domain; every tenth row, so that no person
    is there twice.

    >>> doctor_visits().read_text().splitlines()[:2]
    ['visits,diseases,poor_health', '0,13.7319,0']
    """
    return Path(__file__).parent / "doctor_visits.csv"
