"""The tester finds every bug that is planted, and nothing where there is none."""

import re

import numpy as np
import pytest

import confide as cf
from confide.releasing.auditing.examine import examine, plans_of
from confide.releasing.auditing.shapes import Shape
from confide.releasing.auditing.tables import Workshop
from tests.releasing.pipeline import planted
from tests.releasing.pipeline.channels import TRAP

MEAN = cf.Channel(cf.Mean("x", (0, 4)), cf.Laplace(cf.PureDP(1.0)), n=12)
LATTICE = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0), step=0.5), n=2)
SMOOTH = cf.Channel(cf.Median("x", (0, 10)), cf.SmoothCauchy(cf.PureDP(1.0)), n=12)
EXPONENTIAL = cf.Channel(cf.Median("x", (0, 10)), cf.Exponential(cf.PureDP(1.0)), n=12)
EACH = cf.Channel(cf.Each("x", (0, 4)), cf.Laplace(cf.PureDP(1.0)), n=12)
TRIMMED = cf.Channel(cf.TrimmedMean("x", 0.25, (0, 4)), cf.Laplace(cf.PureDP(1.0)), n=12)
LACKING = cf.Channel(cf.Mean("log(max(b, a))", bounds={"a": (-1, 1), "b": (1, 2)}), cf.Laplace(cf.PureDP(1.0)), n=12)
CSV, GLOB, ARROW, NUMPY = (
    Shape("csv", "text"), Shape("parquet glob", "inferred"), Shape("arrow", "float64"), Shape("numpy", "float64"),
)  # fmt: skip

#: the bug, where it is looked for, and words of what is found
BUGS = [
    (planted.sniffed_types, MEAN, CSV, "outside of the part"),
    (planted.typed_by_the_first_file, MEAN, GLOB, "outside of the part|moved by|mean the same"),
    (planted.dropped_rows, MEAN, CSV, "one neighbour was refused"),
    (planted.inward_rounding, MEAN, NUMPY, "the numbers moved by"),
    (planted.off_by_one_clamp, MEAN, NUMPY, "the numbers moved by"),
    (planted.counted_twice, MEAN, NUMPY, "the numbers moved by"),
    (planted.narrow_sum, cf.Channel(cf.Mean("x", (0, 1e6)), cf.Laplace(cf.PureDP(300.0)), n=12), NUMPY, "was refused"),
    (planted.wrapped_sum, MEAN, NUMPY, "the numbers moved by"),
    (planted.rows_off_by_one, MEAN, NUMPY, "outside of the part"),
    (planted.boundary_in_both_parts, MEAN, ARROW, "nothing could be released|outside of the part"),
    (planted.switch_decided_by_a_float, TRAP, NUMPY, "the numbers moved by"),
    (planted.half_to_even, LATTICE, NUMPY, "the numbers moved by"),
    (planted.refusal_by_a_record, MEAN, NUMPY, "one neighbour was refused"),
    (planted.quoted_record, MEAN, NUMPY, "words of a refusal|nothing could be released"),
    (planted.warning_by_a_record, MEAN, NUMPY, "a warning depends"),
    (planted.imputed_at_the_bound, MEAN, NUMPY, "mean the same"),
    (planted.infinity_clipped, MEAN, NUMPY, "mean the same|one neighbour was refused"),
    (planted.local_sensitivity, SMOOTH, NUMPY, "scales of the noise|further than the smooth"),
    (planted.rate_without_the_half, EXPONENTIAL, NUMPY, "differ by the factor"),
    (planted.centred_records, EACH, NUMPY, "records' numbers changed"),
    (planted.winsorized, TRIMMED, NUMPY, "the numbers moved by"),
    (planted.null_computed, LACKING, ARROW, "words of a refusal"),
]
NAMES = [
    "types sniffed", "types of the first file", "rows dropped", "range rounded inward", "clamp off by one",
    "a record counted twice", "sum in 32 bits", "sum wrapped", "Rows off by one", "Hashed boundary in both parts",
    "switch decided by a float", "half to even", "refusal by a record", "record quoted", "warning by a record",
    "imputed at the bound", "infinity clipped", "local sensitivity", "rate without the half", "records centred",
    "winsorized", "null computed",
]  # fmt: skip


def steps(channel, shape, pairs, folder):
    # one record alone hides what is done to the others
    return examine(plans_of(channel)[1:], [shape], pairs, np.random.default_rng(1), Workshop(folder))


@pytest.mark.parametrize(("bug", "channel", "shape", "words"), BUGS, ids=NAMES)
def test_a_planted_bug_is_found(bug, channel, shape, words, monkeypatch, tmp_path):
    bug(monkeypatch)
    failures = (failure for step in steps(channel, shape, 600, tmp_path) for failure in step.failures)
    assert any(re.search(words, failure.problem) for failure in failures)


@pytest.mark.parametrize(
    ("channel", "shape"),
    list(dict.fromkeys((channel, shape) for _, channel, shape, _ in BUGS)),
    ids=lambda value: str(value) if isinstance(value, Shape) else repr(value.statistic),
)
def test_nothing_is_found_where_nothing_is_planted(channel, shape, tmp_path):
    for step in steps(channel, shape, 30, tmp_path):
        assert not step.failures, step.failures[0]


@pytest.mark.parametrize("privacy", [cf.PureDP(1.0), cf.ApproxDP(1.0, 1e-3), cf.ZCDP(0.5), cf.GDP(1.0)], ids=repr)
def test_columns_that_spend_the_whole_guarantee_each_are_found(privacy, monkeypatch, tmp_path):
    """Two records that differ in both columns; what is computed from the chances themselves sees it."""

    def problems():
        asked = cf.Channel(cf.Each("x", (0, 5)), cf.RandomizedResponse(privacy, columns=(2, 3)), n=12)
        found = [failure.problem for step in steps(asked, NUMPY, 60, tmp_path) for failure in step.failures]
        return [problem for problem in found if "times as likely" in problem]

    assert problems() == []
    planted.every_column_spends_all(monkeypatch)
    assert problems()
