"""The guard of `make bench-check`: what it computes from rows, and when it fails."""

import pytest
from benchmarks.plan import CHECKED, cells
from benchmarks.ratios import RATIOS, compare, ratios
from benchmarks.tables import BEGIN, END, markdown, refreshed


def row(problem, n, contender, **numbers):
    return {"task": "a", "problem": problem, "n": n, "contender": contender, "warm": 1.0, **numbers}


def test_a_ratio_is_the_contender_over_the_best_of_the_others():
    rows = [row("mean", 100, "auto", rate=900.0), row("mean", 100, "NUTS on (θ, u)", rate=30.0)]
    found = ratios([*rows, row("mean", 100, "NumPy Algorithm 5", rate=90.0)])
    assert found == {"a: auto / NUTS on (θ, u), n = 10²": 30.0, "a: auto / the best other, n = 10²": 10.0}


def test_rows_that_failed_or_lack_a_number_are_left_out():
    failed = {"task": "a", "problem": "mean", "n": 100, "contender": "auto", "failed": "not done"}
    assert ratios([failed, row("mean", 100, "NUTS on (θ, u)", rate=3.0)]) == {}
    assert ratios([row("median", 100, "Algorithm 7"), row("median", 10**6, "Algorithm 7", iac=5.0)]) == {}


@pytest.mark.parametrize(("now", "fine"), [(5.0, True), (4.99, False), (20.0, True)])
def test_half_of_the_record_is_the_floor(now, fine):
    lines, found = compare({"speed": 10.0, "another": 1.0}, {"speed": now})
    assert found is fine
    assert len(lines) == 1
    assert lines[0].startswith("ok" if fine else "FELL")
    assert "recorded 10" in lines[0]


def test_what_is_not_recorded_is_told_and_does_not_fail():
    lines, fine = compare({}, {"speed": 1.0})
    assert fine
    assert lines == ["new   speed: 1, nothing recorded"]


def test_the_guard_measures_cells_of_the_full_run_and_most_ratios_need_them():
    assert set(CHECKED) <= set(cells())
    rows = [row(cell.problem, cell.n, cell.contender, rate=1.0, iac=1.0, step_us=1.0) for cell in CHECKED]
    assert len(ratios(rows)) >= 10
    everything = [row(cell.problem, cell.n, cell.contender, rate=1.0, iac=1.0, step_us=1.0) for cell in cells()]
    assert set(ratios(everything)) == set(RATIOS)


def test_the_page_keeps_what_is_around_its_tables():
    result = {
        "machine": {"jax": "0", "load": 0.5},
        "seconds": 60.0,
        "ratios": {"d: auto / NUTS on (θ, u)": 12.0},
        "starts": [{"start": "no cache", "seconds": 5.0, "low": 4.0, "high": 6.0}],
        "rows": [row("mean", 100, "auto", rate=3.0, to_1pct=None, cold=2.0, low=0.5, high=2.0, repeats=5)],
    }
    page = refreshed(f"before\n{BEGIN}\nstale\n{END}\nafter\n", markdown(result))
    assert page.startswith(f"before\n{BEGIN}\n")
    assert page.endswith(f"{END}\nafter\n")
    assert "stale" not in page
    assert "| d: auto / NUTS on (θ, u) | 12 | 5 |" in page
    assert "| a mean | 10² | auto | 2 | 1 | 0.5–2 | 3 | – |  |  |" in page
