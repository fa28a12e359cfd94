"""The ledger's total covers the worst record: what it was really exposed to, whatever happened to the source."""

import numpy as np
import pandas as pd
import pytest

import confide as cf
from confide.published import Hashed, Rows
from tests.releasing.pipeline.exposure import RECORDS, Step, charged, exposures, members, values


@pytest.fixture
def ledger(tmp_path):
    return cf.Ledger(tmp_path / "budget.db")


def frame(order):
    return pd.DataFrame({"id": [f"p{i}" for i in order], "x": [values()[i] for i in order]})


ORDERS = [np.roll(np.arange(RECORDS), shift) for shift in range(3)]


def test_parts_of_one_table_have_every_record_once():
    steps = [(Step(frame(range(RECORDS)), Rows(start, start + 2)), 2) for start in (0, 2, 4)]
    together = np.sum([members(step, n) for step, n in steps], axis=0)
    assert together.tolist() == [1] * RECORDS


def _covers(steps, ledger):
    assert max(exposures(steps)) <= charged(steps, ledger)


def test_overlapping_rows(ledger):
    data = frame(range(RECORDS))
    _covers([(Step(data, Rows(start, start + 3)), 3) for start in (0, 1, 3)], ledger)


def test_a_table_in_memory_that_is_rolled(ledger):
    _covers([(Step(frame(order), Rows(i, i + 1)), 1) for i, order in enumerate(ORDERS)], ledger)


def test_a_file_that_is_sorted_anew(ledger, tmp_path):
    path = tmp_path / "people.parquet"
    exposed, spent = np.zeros(RECORDS), 0.0
    ledger.open("people", budget=cf.PureDP(1000.0))
    for i, order in enumerate(ORDERS):
        frame(order).to_parquet(path)
        steps = [(Step(path, Rows(i, i + 1)), 1)]
        exposed += exposures(steps)
        spent = charged(steps, ledger)
    assert exposed.max() <= spent


def test_a_glob_that_gains_a_file(ledger, tmp_path):
    pattern = str(tmp_path / "*.parquet")
    exposed, spent = np.zeros(RECORDS), 0.0
    ledger.open("people", budget=cf.PureDP(1000.0))
    for i, name in enumerate(("c", "b", "a")):
        # each new file is sorted before the others, and moves what they hold
        frame([5 - i]).to_parquet(tmp_path / f"{name}.parquet")
        steps = [(Step(pattern, Rows(i, i + 1)), 1)]
        exposed += exposures(steps)
        spent = charged(steps, ledger)
    assert exposed.max() <= spent


def test_a_copy_in_another_order(ledger, tmp_path):
    for i, order in enumerate(ORDERS):
        frame(order).to_parquet(tmp_path / f"{i}.parquet")
    _covers([(Step(tmp_path / f"{i}.parquet", Rows(i, i + 1)), 1) for i in range(3)], ledger)


def test_hashed_parts_in_any_order(ledger):
    import hashlib

    places = sorted(int(hashlib.md5(f"p{i}".encode()).hexdigest()[:8], 16) / 2**32 for i in range(RECORDS))
    cuts = [0.0, places[2], places[4], 1.0]
    steps = [
        (Step(frame(order), Hashed("id", start, stop)), 2)
        for order, start, stop in zip(ORDERS, cuts[:-1], cuts[1:], strict=True)
    ]
    assert np.sum([members(step, n) for step, n in steps], axis=0).tolist() == [1] * RECORDS
    _covers(steps, ledger)


def test_disjoint_parts_of_one_table_cost_what_the_dearest_costs(ledger):
    data = frame(range(RECORDS))
    steps = [(Step(data, Rows(start, start + 2)), 2) for start in (0, 2, 4)]
    assert charged(steps, ledger) == max(exposures(steps)) == 0.5


def test_random_sequences(tmp_path):
    """Whole data set, named parts, rows and hashes in any sequence, of tables in any order."""
    generator = np.random.default_rng(0)
    for number in range(4):
        steps = []
        for _ in range(5):
            data = frame(generator.permutation(RECORDS))
            start = int(generator.integers(RECORDS - 1))
            part, n = [(None, RECORDS), ("a name", RECORDS), (Rows(start, start + 2), 2)][int(generator.integers(3))]
            steps.append((Step(data, part, float(generator.choice([0.25, 0.5]))), n))
        assert max(exposures(steps)) <= charged(steps, cf.Ledger(tmp_path / f"{number}.db"))
