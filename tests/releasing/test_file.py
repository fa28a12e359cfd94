"""The file: what is written comes back, and nothing else is let in."""

import contextlib
import json
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import confide as cf
from confide.published import FileError, Hashed, Release, Rows
from confide.published.file import parse
from confide.published.schema import json_schema
from confide.published.value import Integers
from confide.releasing import release

PURE, APPROX = cf.PureDP(1.0), cf.ApproxDP(1.0, 1e-6)
CHANNELS = [
    cf.Channel(cf.Mean("abs(x)", (-10, 10)), cf.Laplace(PURE), 5),
    cf.Channel(cf.Mean(["x", "x**2"], (-1, 1)), cf.Gaussian(APPROX), 5),
    cf.Channel(cf.Mean("x > 0.5", (0, 1)), cf.Laplace(PURE, step=0.2), 5),
    cf.Channel(cf.Mean("x", (0, 1)), cf.Gaussian(scale=0.3, step=0.1), 5),
    cf.Channel(cf.Quantile("x", 0.3, (0, 1)), cf.SmoothLaplace(APPROX, cap=2), 5),
    cf.Channel(cf.Median("x", (0, 1)), cf.SmoothCauchy(PURE, alpha=0.2), 5),
    cf.Channel(cf.Maximum("x", (0, 1)), cf.Exponential(PURE), 5),
    cf.Channel(cf.Minimum("x", (0, 1)), cf.Gaussian(cf.ZCDP(0.1)), 5),
    cf.Channel(cf.Each("x", (0, 1)), cf.Laplace(cf.GDP(1.0)), 5),
    cf.Channel(cf.Each("x > 0.3", (0, 1)), cf.RandomizedResponse(PURE), 5),
    cf.Channel(cf.Each("2 * (x > 0.3) + (x > 0.6)", (0, 1)), cf.RandomizedResponse(PURE, columns=(2, 2)), 5),
]
#: a channel's own sentence takes long where it says how near the published value comes
NAMES = [f"{channel.statistic}, {channel.mechanism}" for channel in CHANNELS]
DATA = [0.1, 0.25, 0.5, 0.75, 0.9]


@pytest.mark.parametrize("channel", CHANNELS, ids=NAMES)
def test_round_trip(channel, tmp_path):
    made = release(channel, DATA, dataset="people", part=Rows(0, 5), purpose="test", missing=0.5)
    made.save(tmp_path / "release.json")
    loaded = Release.load(tmp_path / "release.json")
    assert loaded == made
    assert hash(loaded) == hash(made)
    assert loaded.channel == channel
    np.testing.assert_array_equal(loaded.value, made.value)
    assert np.shape(loaded.value) == channel.value_shape
    assert "_seed" not in (tmp_path / "release.json").read_text()


@pytest.mark.parametrize("channel", CHANNELS, ids=NAMES)
def test_the_file_says_nothing_that_depends_on_the_records_but_the_noisy_numbers(channel, tmp_path):
    """Two releases from different records differ only in noisy numbers: value, counts, digest and the table's name."""
    forms = []
    for index, data in enumerate((DATA, [0.9] * 5)):
        release(channel, data).save(tmp_path / f"{index}.json")
        form = json.loads((tmp_path / f"{index}.json").read_text())
        form.pop("value", None)
        # digests of the noisy numbers, and through them of the file
        assert {"outcome", "digest", "channel"} == set(form["provenance"])
        form["provenance"] = form["provenance"]["channel"]
        for name, inner in {"integers": ["counts"], "records": ["digest", "file"]}.items():
            for key in inner if name in form else []:
                form[name].pop(key)
        forms.append(form)
    assert forms[0] == forms[1]


def test_a_number_published_by_someone_else(tmp_path):
    census = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.01), n=5000)
    for published in (Release(census, 0.4172), Release(census, value=np.float64(0.4172), part=Hashed("id", 0, 0.5))):
        published.save(tmp_path / "census.json")
        assert Release.load(tmp_path / "census.json") == published
    assert Release(census, 0.25) != Release(census, 0.5)
    assert Release(cf.Channel(cf.Mean("x", (0, 1)), cf.Noiseless(), 10), 0.5).value == 0.5


@pytest.mark.parametrize("value", [None, "0.4", float("nan"), [0.1, 0.2], float("inf"), True, {}])
def test_values_that_no_channel_publishes_are_refused(value):
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.01), n=5000)
    with pytest.raises(cf.ConfideError):
        Release(channel, value)


def test_a_changed_table_is_refused(tmp_path):
    made = release(CHANNELS[-2], DATA)
    made.save(tmp_path / "each.json")
    (table,) = tmp_path.glob("*.parquet")
    loaded = Release.load(tmp_path / "each.json")
    content = bytearray(table.read_bytes())
    content[20] ^= 1
    table.write_bytes(content)
    with pytest.raises(FileError, match="changed"):
        Release.load(tmp_path / "each.json")
    with pytest.raises(FileError, match="changed"):
        _ = loaded.value
    table.unlink()
    with pytest.raises(FileError, match="cannot be read"):
        Release.load(tmp_path / "each.json")


def valid():
    """A fresh valid form."""
    channel = CHANNELS[0]
    made = Release(channel, integers=Integers((123456,), Fraction(1, 2**20)), dataset="people")
    from confide.published.codec import encode

    return encode(made)


def changed(*path, to):
    form = valid()
    inner = form
    for key in path[:-1]:
        inner = inner[key]
    if to is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return json.dumps(form)


BROKEN = {
    "future": (changed("version", to=4), "version 4"),
    "far future": (changed("version", to=10**40), "far above"),
    "no version": (changed("version", to=...), "version"),
    "version as text": (changed("version", to="1"), "version"),
    "true version": (changed("version", to=True), "version"),
    "other format": (changed("format", to="something"), "format"),
    "unknown field": (changed("seed", to=3), "seed"),
    "inner unknown field": (changed("channel", "mechanism", "realised_scale", to=3.0), "realised_scale"),
    "text for a number": (changed("channel", "n", to="5"), "n"),
    "float for an int": (changed("channel", "n", to=5.0), "n"),
    "no records": (changed("channel", "n", to=0), "n"),
    "absurd n": (changed("channel", "n", to=10**30), "n"),
    "code": (changed("channel", "statistic", "expressions", to=["__import__('os').system('true')"]), "possible"),
    "no expression": (changed("channel", "statistic", "expressions", to=[]), "expressions"),
    "infinite bounds": (json.dumps(valid()).replace("10.0]", "1e999]"), "bounds"),
    "reversed bounds": (changed("channel", "statistic", "bounds", to=[3.0, -3.0]), "reversed"),
    "NaN": (json.dumps(valid()).replace("10.0]", "NaN]"), "NaN"),
    "infinity": (json.dumps(valid()).replace("10.0]", "-Infinity]"), "Infinity"),
    "value that does not follow": (changed("value", to=0.5), "follow"),
    "integers only": (changed("value", to=...), "exactly one"),
    "huge integer": (changed("integers", "counts", to=[2**2000]), "counts"),
    "too many digits": (json.dumps(valid()).replace("123456", "1" * 5000), "not JSON"),
    "zero step": (changed("integers", "step", to="0"), "step"),
    "negative step": (changed("integers", "step", to="-1/2"), "step"),
    "step by zero": (changed("integers", "step", to="1/0"), "step"),
    "too many counts": (changed("integers", "counts", to=[1, 2]), "whole numbers"),
    "another guarantee": (changed("guarantee", "epsilon", to=0.1), "guarantee"),
    "another kind of guarantee": (changed("guarantee", to={"kind": "GDP", "mu": 1.0}), "guarantee"),
    "option of another mechanism": (changed("channel", "mechanism", "cap", to=3), "options"),
    "quantile level of a mean": (changed("channel", "statistic", "q", to=0.5), "level"),
    "other neighbours": (changed("channel", "neighbours", to="add-remove"), "neighbours"),
    "path in a table's name": (changed("records", to={"file": "../../x", "digest": "0" * 64, "step": "1"}), "file"),
    "duplicate": ('{"format": "confide-release", "format": "confide-release"}', "twice"),
    "deep": ("[" * 100_000, "not JSON"),
    "empty": ("", "not JSON"),
    "a number": ("3", "format"),
    "binary": (b"\xff\xfe\x00", "not JSON"),
}  # fmt: skip


#: small files that would take long or much to read, and what is said of them
BOMBS = {
    "lists": ('{"format": [' + "[]," * 10_000_000 + "1]}", "brackets"),
    "objects": ('{"format": [' + "{}," * 10_000_000 + "1]}", "brackets"),
    "many long expressions": (changed("channel", "statistic", "expressions", to=["x+" * 9999 + "x"] * 900), "in all"),
    "values": (changed("value", to=[0.0] * 1_000_001), "value"),
    "a power of what may be negative": (
        json.dumps(
            valid()
            | {
                "channel": valid()["channel"]
                | {
                    "statistic": {
                        "kind": "Mean",
                        "expressions": ["x>0", "abs(x)**0.1", "interp(x,[0,1],[0,1e308])"],
                        "bounds": [-1e-308, 0.5],
                    }
                }
            }
        ),
        "possible|whole numbers|guarantee",
    ),
}


@pytest.mark.parametrize("case", BOMBS)
def test_bombs_are_refused_before_they_take_time_or_memory(case):
    content, words = BOMBS[case]
    started = time.process_time()
    with pytest.raises(FileError, match=words):
        parse(content)
    assert time.process_time() - started < 3


def test_whatever_a_constructor_raises_is_one_kind_of_error(monkeypatch):
    from confide.published import codec

    for error in (RuntimeError, OverflowError, IndexError, MemoryError, AssertionError):
        monkeypatch.setattr(codec, "decode_channel", lambda _, error=error: (_ for _ in ()).throw(error("no")))
        with pytest.raises(FileError, match=error.__name__):
            parse(json.dumps(valid()))


def test_a_small_table_that_grows_when_it_is_read_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    release(CHANNELS[-2], DATA).save(tmp_path / "each.json")
    (table,) = tmp_path.glob("*.parquet")
    pq.write_table(pa.table({"count": np.zeros(10**6, np.int64)}), table)
    from confide.published.records import digest_of

    form = json.loads((tmp_path / "each.json").read_text())
    form["records"]["digest"] = digest_of(table)
    del form["provenance"]
    with pytest.raises(FileError, match="for each of 5 records"):
        _ = parse(json.dumps(form), tmp_path).value


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_refused_in_words(case):
    content, words = BROKEN[case]
    with pytest.raises(FileError, match=words):
        parse(content)
    assert parse(json.dumps(valid())).value == pytest.approx(123456 / 2**20 / 5)


def test_unreadable_and_oversized_files(tmp_path, monkeypatch):
    with pytest.raises(FileError, match="cannot be read"):
        Release.load(tmp_path / "nothing.json")
    with pytest.raises(FileError, match="cannot be read"):
        Release.load(tmp_path)
    big = tmp_path / "big.json"
    with big.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(FileError, match="larger"):
        Release.load(big)
    with pytest.raises(FileError, match="cannot be written"):
        Release(CHANNELS[0], 0.5).save(tmp_path / "no" / "such" / "folder.json")
    before = Release(CHANNELS[0], 0.5)
    before.save(tmp_path / "kept.json")
    import os

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space left"):
        Release(CHANNELS[0], 0.75).save(tmp_path / "kept.json")
    assert Release.load(tmp_path / "kept.json") == before
    assert sorted(path.name for path in tmp_path.glob("*kept*")) == ["kept.json"]


def test_functions_and_foreign_mechanisms_cannot_be_saved(tmp_path):
    channel = cf.Channel(cf.Mean(abs, (-1, 1), range=(0, 1)), cf.Laplace(PURE), 5)
    with pytest.raises(cf.IncompatibleError, match="function"):
        Release(channel, 0.5).save(tmp_path / "x.json")


def test_the_schema_is_published_and_closed():
    schema = json_schema()
    assert schema["additionalProperties"] is False
    assert all(part["additionalProperties"] is False for part in schema["$defs"].values())
    assert set(schema["required"]) == {"format", "version", "channel", "guarantee"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def paths(form, prefix=()):
    for key, value in form.items() if isinstance(form, dict) else enumerate(form):
        yield (*prefix, key)
        if isinstance(value, dict | list):
            yield from paths(value, (*prefix, key))


@settings(max_examples=300, deadline=None)
@given(path=st.sampled_from(list(paths(valid()))), to=JSON)
def test_any_change_gives_a_release_or_our_error(path, to):
    with contextlib.suppress(FileError):
        parse(changed(*path, to=to))


def test_a_file_without_an_end_is_refused():
    with pytest.raises(FileError, match="does not end"):
        cf.Release.load("/dev/zero")
