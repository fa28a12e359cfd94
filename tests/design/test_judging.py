"""Who is crowned: the best exact figure, and never a candidate without one."""

from dataclasses import replace

import pytest

import confide as cf
from confide.design import judging, optimize
from confide.design.evaluate import evaluate as usual
from confide.errors import AccuracyError

FAMILIES = [cf.families.ClippedScore(), cf.families.Power(), cf.families.Threshold()]


def search(monkeypatch, answer):
    """A search whose exact figures are the normal model's times `answer` of the statistic's text."""

    def evaluate(model, at, method, key, n=None):
        found = usual(model, at, "normal", key, n)
        factor = answer(str(model.channel.statistic))
        told = found.information
        matrix, share = factor * told.matrix, factor * told.efficiency
        return replace(found, information=replace(told, matrix=matrix, efficiency=share, exact=True))

    monkeypatch.setattr(judging, "evaluate", evaluate)
    options = {"families": FAMILIES, "mechanisms": [cf.Gaussian]}
    return optimize(cf.populations.normal_variance(), privacy=cf.GDP(1.0), n=100, theta=2.0, **options)


def test_a_leader_without_an_exact_figure_does_not_win(monkeypatch):
    def answer(text):
        if "clip(" in text:
            raise AccuracyError("the transform decays too slowly")
        return 1.0

    found = search(monkeypatch, answer)
    assert list(found.table["family"]) == ["power", "threshold bit", "clipped score"]
    (note,) = found.notes
    assert note.startswith("Not ranked: the mean of clip(x**2")
    assert "the transform decays too slowly" in note
    assert note in str(found)


def test_an_approximation_found_wrong_has_the_others_judged(monkeypatch):
    """The leader's figure turns out to be a thousandth: the threshold, far behind before, may win now."""
    found = search(monkeypatch, lambda text: 1.0 if ">" in text else 1e-3)
    assert list(found.table["family"]) == ["threshold bit", "clipped score", "power"]
    assert found.candidates[0].is_exact
    assert not found.notes


def test_a_winner_that_the_search_misjudged_is_said_to_be_one(monkeypatch):
    found = search(monkeypatch, lambda text: 0.5)
    (note,) = found.notes
    assert "off by" in note


def test_a_figure_beyond_the_records_own_is_not_believed(monkeypatch):
    found = search(monkeypatch, lambda text: 1.5 if "clip(" in text else 1.0)
    assert found.table["family"][0] == "power"
    assert "exceeds that of the records" in found.notes[0]


def test_where_nothing_has_an_exact_figure_the_approximation_ranks(monkeypatch):
    def answer(text):
        raise AccuracyError("no")

    found = search(monkeypatch, answer)
    assert found.table["family"][0] == "clipped score"
    assert found.table["exact"].isna().all()
    assert len(found.notes) == len(found.candidates)


def test_candidates_far_behind_are_not_judged(monkeypatch):
    asked = []

    def answer(text):
        asked.append(text)
        return 0.99

    found = search(monkeypatch, answer)
    assert len(asked) == 2
    assert found.table["exact"].notna().tolist() == [True, True, False]
    assert found.table["share of best"][2] == pytest.approx(0.75, abs=0.05)
