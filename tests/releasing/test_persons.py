"""Persons with several rows: how many of them are used, that nobody decides about another's, and what is promised."""

import itertools
from collections import Counter

import numpy as np
import pytest

import confide as cf
from confide.releasing.aggregate import exact_numbers
from confide.releasing.plan import plan_of
from confide.releasing.readers.source import open_source
from confide.releasing.readers.table.asked import asked_of

VISITS = {
    "who": ["ann", "bob", "ann", "cy", "ann", "ann", "bob", None, "", "cy", "dee"],
    "cost": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0, 100.0, 4.0, -0.0],
}
TOTAL = cf.Sum(["1", "cost / 10"], bounds={"cost": (0, 10)})
NOISE = cf.Laplace(cf.PureDP(1.0))


def exact(statistic, data, table=None, mechanism=NOISE):
    """The exact numbers before noise."""
    channel = cf.Channel(statistic, mechanism)
    plan = plan_of(channel)
    asked = "cost" if statistic.counts else asked_of(statistic, None)
    with open_source(data, asked, table, statistic.persons.column) as source:
        return [float(number * plan.grid.step) for number in exact_numbers(plan, source, None, None)]


def of_rows(rows):
    return {"who": [who for who, _ in rows], "cost": [cost for _, cost in rows]}


@pytest.mark.parametrize(("at_most", "rows"), [(1, 4), (2, 7), (3, 8), (9, 9)])
def test_at_most_so_many_rows_of_each_person(at_most, rows):
    assert exact(cf.Count().per_person("who", at_most), VISITS) == [rows]
    count, total = exact(TOTAL.per_person("who", at_most), VISITS)
    assert count == rows
    if at_most == 9:
        assert total == pytest.approx(3.2)


def rows_of(data, at_most):
    """The sum of powers of two says which rows are used."""
    statistic = cf.Sum("2**cost", bounds={"cost": (0, 12)}).per_person("who", at_most)
    return int(exact(statistic, data)[0])


def test_nobody_decides_which_rows_of_another_are_used():
    """Every order of the rows, and every set of other persons, leaves a person the same rows."""
    ann = [("ann", float(cost)) for cost in range(5)]
    others = {"bob": [("bob", 6.0), ("bob", 7.0), ("bob", 8.0)], "cy": [("cy", 9.0)], "": [("", 10.0)] * 4}
    alone = rows_of(of_rows(ann), 2)
    assert alone.bit_count() == 2
    generator = np.random.default_rng(0)
    for names in itertools.chain.from_iterable(itertools.combinations(others, k) for k in range(4)):
        rows = [*ann, *itertools.chain.from_iterable(others[name] for name in names)]
        order = generator.permutation(len(rows))
        assert rows_of(of_rows([rows[place] for place in order]), 2) % 32 == alone


def test_all_rows_of_a_person_are_used_equally_often():
    """Of rows 0, 1, 1, 1 one is used: the 0 by a quarter of 400 persons (α = 1e-6: from 132 to 60)."""
    people = [(f"person {i}", cost) for i in range(400) for cost in (0.0, 1.0, 1.0, 1.0)]
    ones = exact(cf.Sum("cost", bounds={"cost": (0, 1)}).per_person("who", 1), of_rows(people))[0]
    assert 60 <= 400 - ones <= 145


def test_a_person_moves_no_more_than_the_noise_is_for():
    """Each person is taken out with all rows; the whole numbers that get noise move by at most its scale times ε."""
    for mechanism in (NOISE, cf.Laplace(cf.PureDP(1.0), step=1), cf.Laplace(cf.PureDP(0.5), step=0.3)):
        for statistic in (TOTAL, cf.Sum("cost - 5", bounds={"cost": (0, 10)}), cf.Histogram("cost", edges=[3, 5])):
            persons = statistic.per_person("who", 2)
            channel = cf.Channel(persons, mechanism)
            plan = plan_of(channel)
            tables = [of_rows([(w, c) for w, c in zip(*VISITS.values(), strict=True) if w != out])
                      for out in (object(), "ann", "bob", "cy", "dee")]  # fmt: skip
            centres = []
            for table in tables:
                with open_source(table, asked_of(persons, None), None, "who") as source:
                    centres.append(plan.centre(exact_numbers(plan, source, None, None)))
            for centre in centres[1:]:
                moved = sum(abs(int(a) - int(b)) for a, b in zip(centre, centres[0], strict=True))
                assert moved <= plan.scale * mechanism.privacy.epsilon


@pytest.mark.parametrize("at_most", [1, 2, 3])
def test_noise_is_as_many_times_as_large(at_most):
    for mechanism in (cf.Laplace(cf.PureDP(1.0)), cf.Gaussian(cf.ZCDP(0.5)), cf.Laplace(cf.PureDP(1.0), step=1)):
        for statistic in (cf.Count(), TOTAL, cf.Histogram("cost", edges=[3, 5])):
            one, many = (cf.Channel(each, mechanism) for each in (statistic, statistic.per_person("who", at_most)))
            tight = 1e-9 if mechanism.step is None or statistic is not TOTAL else 0.5
            assert many.law.noise.scale == pytest.approx(at_most * one.law.noise.scale, rel=tight)
            assert many.guarantee == one.guarantee == mechanism.privacy
    assert cf.Channel(cf.Count().per_person("who", 3), NOISE).guarantee_between("replace-one") == cf.PureDP(2.0)
    # one row that becomes another person's: both may have other rows used, -1 and 1 for 1 and -1
    signed = cf.Sum("cost", bounds={"cost": (-1, 1)}).per_person("who", 1)
    assert cf.Channel(signed, NOISE).guarantee_between("replace-one") == cf.PureDP(4.0)


def test_a_database_uses_the_same_rows(postgres):
    import ibis
    import pandas

    ibis.connect(postgres).create_table("visits", pandas.DataFrame(VISITS))
    for at_most in (1, 2, 3):
        statistic = TOTAL.per_person("who", at_most)
        assert exact(statistic, postgres, "visits")[0] == exact(statistic, VISITS)[0]


def test_a_release_protects_a_person_and_says_so(tmp_path):
    channel = cf.Channel(TOTAL, NOISE)
    made = cf.release(channel, VISITS, person="who", at_most=2)
    assert made.channel == cf.Channel(TOTAL.per_person("who", 2), NOISE)
    assert made.channel.protects == "one person"
    assert "ONE PERSON by who, with all rows: at most 2 rows" in str(made)
    made.save(tmp_path / "release.json")
    assert cf.Release.load(tmp_path / "release.json") == made
    assert "ONE PERSON by who" in cf.report(made, tmp_path / "page.html").read_text()
    assert eval(repr(made.channel.statistic), vars(cf)) == made.channel.statistic
    changed = (tmp_path / "release.json").read_text().replace('"at_most": 2', '"at_most": 1')
    (tmp_path / "changed.json").write_text(changed)
    with pytest.raises(cf.FileError):
        cf.Release.load(tmp_path / "changed.json")


def test_what_would_divide_a_persons_rows_is_refused():
    channel = cf.Channel(TOTAL, NOISE)
    data = VISITS | {"sex": ["f"] * 11}
    with pytest.raises(cf.IncompatibleError, match="several groups"):
        cf.release(channel, data, person="who", at_most=2, by="sex", groups=["f", "m"])
    with pytest.raises(cf.InvalidArgument, match="may divide the rows"):
        cf.release(channel, data, person="who", at_most=2, part=cf.Hashed("sex", 0, 0.5))
    with pytest.raises(cf.InvalidArgument, match="n is public"):
        cf.release(cf.Channel(TOTAL, NOISE, n=11), VISITS, person="who", at_most=2)
    with pytest.raises(cf.InvalidArgument, match="not between 1"):
        cf.release(channel, VISITS, person="who", at_most=0)
    with pytest.raises(cf.InvalidArgument, match="at_most"):
        cf.release(channel, VISITS, person="who")
    with pytest.raises(cf.InvalidArgument, match="without a person"):
        cf.release(channel, VISITS, at_most=2)
    with pytest.raises(cf.InvalidArgument, match="not a column of the data"):
        cf.release(channel, VISITS, person="nobody", at_most=2)
    with pytest.raises(cf.IncompatibleError, match="as many records as are public"):
        cf.Mean("x", bounds=(0, 1)).per_person("who", 2)


def test_parts_by_person_compose_in_parallel(tmp_path):
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("visits", budget=cf.PureDP(1.0), neighbours="add-remove")
    counts = Counter()
    for start, stop in ((0, 0.5), (0.5, 1)):
        made = cf.release(cf.Channel(TOTAL, cf.Laplace(cf.PureDP(1.0))), VISITS, person="who", at_most=2, ledger=book,
                          dataset="visits", part=cf.Hashed("who", start, stop))  # fmt: skip
        counts[made.channel.protects] += 1
    assert book.spent("visits") == cf.PureDP(1.0)
    assert counts == {"one person": 2}
