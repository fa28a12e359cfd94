"""Provenance: files that were edited are found out, by their digests or by the ledger that paid for them."""

import json
from pathlib import Path

import pytest

import confide as cf
from confide.published import FileError, Release
from confide.published.codec import encode_sealed
from confide.published.file import parse
from confide.published.provenance import provenance_of
from confide.published.release import Entry
from confide.releasing.ledger.ledger import Ledger
from tests.releasing.test_file import CHANNELS, DATA

OLD = Path(__file__).parent / "data" / "release-version-1.json"


@pytest.fixture
def paid(tmp_path):
    book = Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(8.0))
    for channel in (CHANNELS[0], CHANNELS[0], CHANNELS[6]):
        made = cf.release(channel, DATA, ledger=book, dataset="people", purpose="test", fresh=True)
    made.save(tmp_path / "release.json")
    return book, tmp_path / "release.json", made


def test_what_was_written_is_confirmed(paid):
    book, path, made = paid
    assert made.entry.position == 3
    assert Release.load(path).entry == made.entry
    assert book.releases("people")[-1].entry == made.entry
    found = cf.verify(path)
    assert found
    assert found.confirmed is None
    assert "only the ledger" in str(found)
    found = cf.verify(path, ledger=book)
    assert found.confirmed is True
    assert found.release == made


EDITS = {
    "purpose": lambda form: form.update(purpose="another"),
    "dataset": lambda form: form.update(dataset="strangers"),
    "part": lambda form: form.update(part={"kind": "rows", "start": 0, "stop": 5}),
    "missing": lambda form: form.update(missing=0.5),
    "column": lambda form: form.update(column="age"),
    "value": lambda form: (form.pop("integers"), form.update(value=form["value"] / 2)),
    "counts": lambda form: form.pop("integers"),
    "channel": lambda form: form["channel"].update(n=6),
    "position": lambda form: form["provenance"]["entry"].update(position=1),
    "seal": lambda form: form["provenance"]["entry"].update(seal="0" * 64),
    "ledger": lambda form: form["provenance"]["entry"].update(ledger="0" * 32),
    "no entry": lambda form: form["provenance"].pop("entry"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_file_is_refused_and_a_forged_one_is_not_confirmed(edit, paid):
    book, path, _ = paid
    form = json.loads(path.read_text())
    EDITS[edit](form)
    path.write_text(json.dumps(form))
    with pytest.raises(FileError, match=r"edited|possible|follow"):
        Release.load(path)
    assert not cf.verify(path, ledger=book)
    # whoever edits on purpose computes the digests anew
    told = form.pop("provenance").get("entry")
    entry = None if told is None else Entry(**told)
    path.write_text(json.dumps(form | {"provenance": provenance_of(form, entry)}))
    assert cf.verify(path)
    found = cf.verify(path, ledger=book)
    assert not found
    assert found.confirmed is False


def test_another_ledger_confirms_nothing(paid, tmp_path):
    _, path, _ = paid
    other = Ledger(tmp_path / "other.db")
    other.open("people", budget=cf.PureDP(8.0))
    for _ in range(3):
        cf.release(CHANNELS[0], DATA, ledger=other, dataset="people", purpose="test", fresh=True)
    assert cf.verify(path, ledger=other).confirmed is False


def test_how_numbers_are_written_is_no_edit(paid):
    """Other programs write 10.0 as 10, sort fields and leave out blanks."""
    _, path, made = paid
    form = json.loads(path.read_text())
    form["channel"]["statistic"]["bounds"] = [round(bound) for bound in form["channel"]["statistic"]["bounds"]]
    assert parse(json.dumps(form, sort_keys=True, separators=(",", ":"))) == made


def test_tables_have_a_provenance_too(tmp_path):
    book = Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.GDP(8.0))
    made = cf.release(CHANNELS[8], DATA, ledger=book, dataset="people")
    made.save(tmp_path / "each.json")
    assert cf.verify(tmp_path / "each.json", ledger=book).confirmed
    (table,) = tmp_path.glob("*.parquet")
    table.write_bytes(table.read_bytes() + b"x")
    assert "changed since" in str(cf.verify(tmp_path / "each.json", ledger=book))


def test_files_of_version_1_are_read_as_they_were(tmp_path):
    assert json.loads(OLD.read_text())["version"] == 1
    made = Release.load(OLD)
    assert made.dataset == "people"
    assert made.entry is None
    assert "nothing about its provenance" in str(cf.verify(OLD))
    made.save(tmp_path / "new.json")
    assert json.loads((tmp_path / "new.json").read_text())["version"] == 2
    assert Release.load(tmp_path / "new.json") == made


def test_no_provenance_depends_on_records_but_through_the_noisy_value(tmp_path):
    """Two releases of one value, from different records and different ledgers: only what names the entry differs."""
    forms = []
    for index, data in enumerate((DATA, [0.9] * 5)):
        book = Ledger(tmp_path / f"{index}.db")
        book.open("people", budget=cf.PureDP(8.0))
        made = cf.release(CHANNELS[0], data, ledger=book, dataset="people")
        fixed = Release(made.channel, 0.5, dataset="people", entry=made.entry)
        forms.append(encode_sealed(fixed)["provenance"])
    assert {name for name in forms[0] if forms[0][name] != forms[1][name]} == {"entry", "digest"}


def test_what_nobody_could_read_is_not_written(tmp_path):
    absurd = Release(cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1e13)), 2), 0.5)
    with pytest.raises(FileError, match="nobody could read"):
        absurd.save(tmp_path / "x.json")
