"""Texts of a file: none does anything to the terminal that shows it, or turns around what stands beside it."""

import json
import unicodedata

import pytest

import confide as cf
from confide.errors import ConfideError, IncompatibleError, InvalidArgument
from confide.published import FileError
from confide.published.file import parse

#: an escape sequence, a bell, a backspace, one of C1 that some terminals take for an escape, an override, an isolate
HIDDEN = ["\x1b]0;evil\x07", "\x07", "\b", "\x9b2J", "\u202e", "\u2067", "\x7f", "\ud800"]
LAPLACE = cf.Laplace(cf.PureDP(1.0))


def releases(name, purpose):
    """Releases that have a name in every place where a file may have one."""
    told = {"dataset": name, "purpose": purpose}
    table = cf.Histogram([name, "b"], edges={name: [0.0]}, categories={"b": [name]})
    rows = cf.Mean("age * ward", {"age": (0, 1)}, categories={"ward": [name]})
    mean = cf.Channel(cf.Mean("x", (0, 1)), LAPLACE, n=9)
    return [
        cf.Release(cf.Channel(table, LAPLACE, n=9), [1.0] * 4, **told, part=name),
        cf.Release(cf.Channel(rows, LAPLACE, n=9), 0.5, **told, part=cf.Hashed(name, 0, 0.5), column={"age": name}),
        cf.Release(cf.Channel(cf.Count().per_person(name, 2), LAPLACE), 9.0, **told),
        cf.Release(mean, 0.5, **told, part=cf.Grouped(name, "b"), column=name),
        cf.Release(mean, 0.5, **told, part=cf.Grouped("b", name)),
    ]


def places(form, name, path=()):
    """Where a name stands, as a key or as a value."""
    for key, value in form.items() if isinstance(form, dict) else enumerate(form) if isinstance(form, list) else ():
        yield from [(*path, key, True)] * (key == name)
        yield from [(*path, key, False)] * (value == name)
        yield from places(value, name, (*path, key))


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
def test_no_text_of_a_file_holds_what_nobody_sees(hidden, tmp_path):
    seen = 0
    for made in releases("some name", "some name"):
        made.save(tmp_path / "release.json")
        text = (tmp_path / "release.json").read_text()
        for *path, key, is_key in places(json.loads(text), "some name"):
            form = json.loads(text)
            form.pop("provenance")
            place = form
            for step in path:
                place = place[step]
            if is_key:
                place["some" + hidden] = place.pop(key)
            else:
                place[key] = "some" + hidden
            seen += 1
            with pytest.raises(FileError) as refused:
                parse(json.dumps(form))
            shown = str(refused.value)
            assert not any(unicodedata.category(each) in ("Cc", "Cf", "Cs") for each in shown), ascii(shown)
    assert seen == 20


def test_a_field_that_is_unknown_is_quoted_as_it_can_be_seen(tmp_path):
    releases("a", "b")[0].save(tmp_path / "release.json")
    form = json.loads((tmp_path / "release.json").read_text())
    form["channel"]["\x1b[2J"] = 1
    with pytest.raises(FileError, match=r"channel.\\x1b\[2J is not as a release file has it"):
        parse(json.dumps(form))


def test_names_that_can_be_seen_are_names(tmp_path):
    for made in releases("Ålesund בית 👩‍⚕️", "two\r\nlines\tof it"):
        made.save(tmp_path / "release.json")
        assert cf.Release.load(tmp_path / "release.json") == made


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
def test_such_a_text_is_refused_before_anything_is_paid_for(hidden, tmp_path):
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    mean, bad = cf.Channel(cf.Mean("x", (0, 1)), LAPLACE, n=2), "a" + hidden
    data = {"x": [0.0, 1.0], bad: ["b", "c"]}
    for told in ({"purpose": bad}, {"part": bad}, {"part": cf.Hashed(bad, 0, 0.5)}, {"by": bad, "groups": {"b": 2}}):
        with pytest.raises(InvalidArgument, match="invisible"):
            cf.release(mean, data, column="x", ledger=book, dataset="people", **told)
    table = cf.Channel(cf.Histogram(bad, categories=["b"]), LAPLACE, n=2)
    with pytest.raises(IncompatibleError, match="cannot be released"):
        cf.release(table, data, ledger=book, dataset="people")
    with pytest.raises(ConfideError):
        cf.release(mean, data, column=bad, ledger=book, dataset="people")
    assert book.spent("people") is None
