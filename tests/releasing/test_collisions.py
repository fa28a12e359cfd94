"""Two identifiers with one MD5, which anybody can make: neither two groups of one record, nor one person."""

import hashlib

import ibis
import pyarrow as pa
import pytest

import confide as cf
from confide.releasing.plan import plan_of
from tests.releasing.exactly import numbers
from tests.releasing.test_persons import exact

#: texts with one MD5 (Stevens 2024), and bytes (Wang and Yu 2005)
TEXTS = [f"TEXTCOLLBYfGiJUETHQ4h{each}cKSMd5zYpgqf1YRDhkmxHkhPWptrkoyz28wnI9V0aHeAuaKnak" for each in "AE"]
_FIRST = bytes.fromhex(
    "d131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f8955ad340609f4b30283e488832571415a085125e8f7cdc99fd91d"
    "bdf280373c5bd8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0e99f33420f577ee8ce54b67080a80d1ec69821bc"
    "b6a8839396f9652b6ff72a70"
)
BYTES = [_FIRST, bytes(byte ^ 128 * (at in (19, 45, 59, 83, 109, 123)) for at, byte in enumerate(_FIRST))]
#: sums of one row of each person, who hold 1 and -1
SIGNED = cf.Sum("cost", bounds={"cost": (-1, 1)}).per_person("who", 1)


def in_group(text, data, table=None):
    plan = plan_of(cf.Channel(cf.Sum("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0))))
    return float(numbers(plan, data, "cost", table, cf.Grouped("who", text))[0] * plan.grid.step)


def persons(rows):
    return pa.table({"who": [who for who, _ in rows], "cost": pa.array([cost for _, cost in rows], pa.float64())})


def test_a_record_is_in_one_group_only(tmp_path, postgres):
    for pair in ([text.encode() for text in TEXTS], BYTES):
        assert len({hashlib.md5(each, usedforsecurity=False).digest() for each in pair}) == 1
    data = persons([(TEXTS[0], 1.0)])
    ibis.connect(postgres).create_table("groups", data)
    for source in ((data, None), (postgres, "groups")):
        assert [in_group(text, *source) for text in TEXTS] == [1.0, 0.0]


@pytest.mark.parametrize("pair", [TEXTS, BYTES], ids=["texts", "bytes"])
def test_nobody_is_taken_for_another_person(pair, postgres):
    """Without the one the other's row was used instead, so that a sum moved by 2 where noise was for 1."""
    assert pair[0] != pair[1]
    rows = [(pair[0], 1.0), (pair[1], -1.0)]
    connection = ibis.connect(postgres)
    for left, found in ((rows, 0.0), (rows[:1], 1.0), (rows[1:], -1.0)):
        assert exact(SIGNED, persons(left)) == [found]
        name = f"persons{len(left)}{found:+.0f}{type(pair[0]).__name__}"
        connection.create_table(name, persons(left))
        assert exact(SIGNED, postgres, name) == [found]
