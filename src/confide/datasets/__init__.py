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


def penguins() -> Path:
    """A CSV file of 344 penguins: species, island, bill, flipper, mass, sex and year; texts, and cells that say NA.

    Measured at Palmer Station, Antarctica, by K. Gorman and others (2007 to 2009), dedicated to the public (CC0).

    >>> penguins().read_text().splitlines()[1]
    'Adelie,Torgersen,39.1,18.7,181,3750,male,2007'
    """
    return Path(__file__).parent / "penguins.csv"
