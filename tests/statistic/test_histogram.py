"""Histograms: cells, counts, and what one record moves."""

import itertools

import numpy as np
import pytest

import confide as cf

AGES = cf.Histogram("x", edges=[0, 10, 20, 40])


def test_cells_are_half_open():
    assert AGES.cells == ("below 0", "0 to 10", "10 to 20", "20 to 40", "40 or more")
    counts = AGES.summary([-1e-9, 0.0, 9.999, 10.0, 19.0, 20.0, 39.9, 40.0, 1e9])
    assert counts.tolist() == [1, 2, 2, 2, 2]


def test_what_is_not_listed_is_other():
    ward = cf.Histogram("ward", categories=["A", "B"])
    assert ward.cells == ("A", "B", "other")
    assert ward.summary(["A", "C", "", "B", "b", "other"]).tolist() == [1, 1, 4]
    assert ward.summary(np.array([0.0, 1.0, 2.0, 7.0, -1.0, 0.5])).tolist() == [1, 1, 4]


def test_a_table_has_all_combinations():
    table = cf.Histogram(["sex", "age"], categories={"sex": ["f", "m"]}, edges={"age": [40]})
    assert table.dimension == 6
    counts = table.summary({"sex": ["f", "m", "x", "f"], "age": np.array([39.0, 40.0, 1.0, 40.0])})
    assert dict(zip(table.cells, counts.tolist(), strict=True)) == {
        "sex=f, age=below 40": 1,
        "sex=f, age=40 or more": 1,
        "sex=m, age=below 40": 0,
        "sex=m, age=40 or more": 1,
        "sex=other, age=below 40": 1,
        "sex=other, age=40 or more": 0,
    }


@pytest.mark.parametrize("step", [0.25, 1.0, 2.0, 0.3])
def test_no_replaced_record_moves_more_steps_than_noise_is_calibrated_to(step):
    from confide.mechanism.discrete import squared_steps

    worst = [0, 0]
    for records in itertools.product(range(3), repeat=3):
        for i, new in itertools.product(range(3), range(3)):
            other = [*records[:i], new, *records[i + 1 :]]
            points = [np.floor(np.bincount(each, minlength=3) / step + 0.5) for each in (records, other)]
            moved = np.abs(points[0] - points[1])
            worst = [max(worst[0], moved.sum()), max(worst[1], (moved**2).sum())]
    assert worst[0] ** 2 <= squared_steps(AGES, 3, step, 1)
    assert worst[1] <= squared_steps(AGES, 3, step, 2)
    if step == 1.0:
        assert (squared_steps(AGES, 3, step, 1), squared_steps(AGES, 3, step, 2)) == (4, 2)


def test_the_sensitivities_are_exact():
    assert AGES.sensitivity(7) == 2.0
    assert AGES.sensitivity(7, norm=2) == pytest.approx(2**0.5, rel=1e-15)
    assert AGES.sensitivity(7, norm=2) ** 2 >= 2.0
    assert cf.Channel(AGES, cf.Laplace(cf.PureDP(1.0), step=1), n=7).law.noise.scale == 2.0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: cf.Histogram("x"),
        lambda: cf.Histogram("x", edges=[]),
        lambda: cf.Histogram("x", edges=[1, 1]),
        lambda: cf.Histogram("x", edges=[0, float("inf")]),
        lambda: cf.Histogram("x", edges=[0], categories=["a"]),
        lambda: cf.Histogram("x", categories="ab"),
        lambda: cf.Histogram("x", categories=["a", "a"]),
        lambda: cf.Histogram("x", categories=["other"]),
        lambda: cf.Histogram(["a", "b"], categories={"a": ["u"]}),
        lambda: cf.Histogram(["a", "b"], categories=["u"]),
        lambda: cf.Histogram(["a", "a"], categories={"a": ["u"]}),
        lambda: cf.Histogram("a", categories={"b": ["u"]}),
        lambda: cf.Histogram(["a", "b"], edges={"a": range(100), "b": range(100)}),
    ],
)
def test_what_makes_no_cells_is_refused(wrong):
    with pytest.raises(cf.InvalidArgument, match=r"use|give|name|leave|correct"):
        wrong()


def test_equal_if_their_cells_are():
    assert cf.Histogram("x", edges=[0, 1]) == cf.Histogram("x", edges=[0.0, 1.0])
    assert cf.Histogram("x", edges=[0, 1]) != cf.Histogram("x", edges=[0, 2])
    assert eval(repr(AGES), {"Histogram": cf.Histogram}) == AGES


def test_files_have_their_cells(tmp_path):
    table = cf.Histogram(["sex", "age"], categories={"sex": ["f", "m"]}, edges={"age": [18, 65]})
    for n in (None, 50):
        channel = cf.Channel(table, cf.Laplace(cf.PureDP(1.0), step=1), n)
        made = cf.Release(channel, np.arange(9.0))
        made.save(tmp_path / "counts.json")
        assert cf.Release.load(tmp_path / "counts.json") == made
        assert cf.verify(tmp_path / "counts.json")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"kind": "Histogram"', '"kind": "Mean"'),
        ('"cells": [', '"expressions": ["x"], "cells": ['),
        ('"edges": [', '"categories": ["a"], "edges": ['),
    ],
)
def test_a_file_with_cells_and_something_else_is_refused(tmp_path, old, new):
    cf.Release(cf.Channel(AGES, cf.Laplace(scale=2.0, step=1), 5), np.zeros(5)).save(tmp_path / "counts.json")
    text = (tmp_path / "counts.json").read_text()
    assert old in text
    (tmp_path / "counts.json").write_text(text.replace(old, new, 1))
    with pytest.raises(cf.FileError):
        cf.Release.load(tmp_path / "counts.json")


def test_a_private_number_of_records_halves_the_noise():
    made = {n: cf.Channel(AGES, cf.Laplace(cf.PureDP(1.0), step=1), n) for n in (None, 7)}
    assert made[None].law.noise.scale == 1.0
    assert made[None].guarantee_between("replace-one") == cf.PureDP(2.0)
