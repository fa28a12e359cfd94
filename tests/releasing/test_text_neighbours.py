"""Neighbours through files of text: a line is a record, whatever it holds, and moves its own share alone."""

import gzip
import random
from fractions import Fraction

import pytest

import confide as cf
from confide.published import DataError
from confide.releasing.plan import plan_of
from confide.releasing.readers.cells import number_of
from confide.releasing.readers.engine import rows_of
from confide.releasing.readers.source import open_source
from tests.releasing.exactly import numbers
from tests.releasing.neighbours import HALF, PLAN, RECORDS, TEXTS, check, expected, read, texts, total

#: what only files of text can hold: their own marks, and bytes that are no text
MARKS = [
    '"3',
    '3"',
    '"',
    '"""',
    '"3"4"',
    '"3,4',
    "3\r",
    "3\x004",
    "\x00",
    "\r",
    "3,4,5,6",
    ",",
    ",,,,",
    "\ufeff3",
    '""3',
]
BYTES = [b"\xff\xfe3", b"\xc3", b"3\x80", b"9" * 2**21, b'"' + b"9" * 2**21]


def encoded(cell):
    return cell if isinstance(cell, bytes) else cell.encode()


def one_column(end=b"\n"):
    return lambda records: b"x" + end + b"".join(encoded(cell) + end for cell in texts(records))


def several_columns(separator=b",", last=b"\n"):
    def write(records):
        lines = [separator.join((b"%d" % i, encoded(cell), b"note")) for i, cell in enumerate(texts(records))]
        return separator.join((b"id", b"x", b"note")) + b"\n" + b"\n".join(lines) + last

    return write


def quoted(records):
    lines = [
        b'"%d","' % i + encoded(cell).replace(b'"', b'""') + b'","a ""b"", c"' for i, cell in enumerate(texts(records))
    ]
    return b'"id","x","note"\n' + b"\n".join(lines) + b"\n"


FILES = {
    "one.csv": one_column(), "crlf.csv": one_column(b"\r\n"), "one.txt": one_column(), "several.csv": several_columns(),
    "open.csv": several_columns(last=b""), "semicolon.csv": several_columns(b";"), "bars.txt": several_columns(b"|"),
    "several.tsv": several_columns(b"\t"), "several.csv.gz": several_columns(), "one.tsv.gz": one_column(),
}  # fmt: skip


def written(path, content):
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path, "x", None


@pytest.mark.parametrize("name", FILES)
def test_files_of_text(name, tmp_path):
    separator = {"semicolon.csv": ";", "bars.txt": "|"}.get(name, "\t" if ".tsv" in name else ",")
    cells = [(text, number) for text, number in TEXTS.items() if separator not in text]
    # a separator in the cell makes another number of fields, and quotation marks that are not closed no fields at all
    cells += [(mark, 3.0 if mark == "3\r" else None) for mark in [*MARKS, *BYTES, f"3{separator}4"]]
    check(lambda records: written(tmp_path / name, FILES[name](records)), cells)


def test_quotation_marks(tmp_path):
    cells = [*TEXTS.items(), *((mark, 3.0 if mark == "3\r" else None) for mark in MARKS)]
    check(lambda records: written(tmp_path / "quoted.csv", quoted(records)), cells)


def test_files_that_go_through_many_blocks(tmp_path, monkeypatch):
    """A block may end anywhere: within a line, a quotation, or a pair of carriage return and line feed."""
    from confide.releasing.readers import delimited

    contents = [one_column(b"\r\n")(RECORDS), several_columns(last=b"")(RECORDS), quoted(RECORDS)]
    for block in (1, 2, 3, 5, 7, 16):
        monkeypatch.setattr(delimited, "BLOCK", block)
        for content in contents:
            assert read(written(tmp_path / "blocks.csv", content)) == RECORDS
        assert total(HALF, written(tmp_path / "blocks.csv", content), cf.Rows(2, 6)) == expected(RECORDS[2:6], HALF)
    monkeypatch.setattr(delimited, "LONGEST_LINE", 410)
    long = [*RECORDS[:3], "9" * 3000, *RECORDS[4:]]
    for content in (one_column()(long), several_columns()(long)):
        assert read(written(tmp_path / "long.csv", content)) == [*RECORDS[:3], None, *RECORDS[4:]]


@pytest.mark.parametrize("content", [b"", b"x", b"\xff\xfex\x00\n\x003\x00", b"x\r3\r", b"x,x\n1,2\n", b"a,b\n1,2\n"])
def test_first_lines_that_are_none(content, tmp_path):
    (tmp_path / "bad.csv").write_bytes(content)
    with pytest.raises(cf.ConfideError, match=r"first line|column"):
        cf.release(PLAN.channel, tmp_path / "bad.csv", column="x")


@pytest.mark.parametrize("name", ["open.csv", "open.csv.gz", "open.txt"])
def test_a_last_line_that_does_not_end_is_a_record_whatever_it_holds(name, tmp_path):
    """If it is empty it cannot be seen, and n says that it is there."""
    check(lambda records: written(tmp_path / name, one_column()(records)[:-1]), [("3", 3.0), ("", None), ("n/a", None)])
    for records in (RECORDS, [*RECORDS[:-1], ""], [""] * len(RECORDS)):
        values = [None if record == "" else record for record in records]
        made = written(tmp_path / name, one_column()(records)[:-1])
        assert total(PLAN, made) == expected(values, PLAN)
        assert total(HALF, made, cf.Rows(4, 8)) == expected(values[4:], HALF)
        assert total(HALF, made, cf.Rows(0, 4)) == expected(values[:4], HALF)
    for count in (len(RECORDS) - 2, len(RECORDS) + 1):
        with pytest.raises(DataError, match="records, but"):
            total(PLAN, written(tmp_path / name, one_column()((RECORDS * 2)[:count])[:-1]))


def test_a_line_that_does_not_end_in_one_of_several_files(tmp_path):
    """An empty one would move the records of the next file to other positions."""
    for index in range(2):
        written(tmp_path / f"part{index}.csv", one_column()(RECORDS[index::2])[:-1])
    with pytest.raises(DataError):
        total(PLAN, (str(tmp_path / "part*.csv"), "x", None))


def test_types_are_not_found_by_sampling(tmp_path):
    """Sampled rows made integers of the file, or doubles by the first record, and 15,000 others were rounded or not."""
    plan = plan_of(cf.Channel(cf.Mean("x", (0, 10)), cf.Laplace(cf.PureDP(1.0)), 40_000))
    found = set()
    for first in ("3", "3.25", "n/a"):
        (tmp_path / "people.csv").write_text("x\n" + f"{first}\n" + "3\n" * 25_000 + "3.5\n" * 15_000)
        found |= {numbers(plan, tmp_path / "people.csv", "x", part=cf.Rows(1, 40_001))[0]}
    assert found == {25_000 * plan.grid.nearest(Fraction(3)) + 15_000 * plan.grid.nearest(Fraction(7, 2))}


def test_a_file_that_shrinks_while_it_is_read_is_refused(tmp_path):
    """Its first line is looked for where it was; once it was waited for without end."""
    path = tmp_path / "people.csv"
    path.write_bytes(b"a long name of a column\n1\n2\n")
    with open_source(str(path), None, None) as source:
        path.write_bytes(b"x\n")
        with pytest.raises(DataError):
            rows_of(source.connection, source.table)


def test_regular_blocks_are_read_as_all_others(monkeypatch):
    """Lines that are as they should be are read in a faster way, if all lines of their block are."""
    from confide.releasing.readers import delimited, files

    asked = []
    cells = [text for text in [*texts(RECORDS), *TEXTS, "9" * 401, "3\r", "+-3", "3_0", "\xe9"] if "," not in text]
    for names in ("id,x,z", "z,x,id", "x,id,z", "z,id,x"):
        for end in ("\n", "\r\n"):
            fields = {"id": range(len(cells)), "x": cells, "z": ["note"] * len(cells)}
            rows = zip(*(fields[name] for name in names.split(",")), strict=True)
            block = "".join(",".join(map(str, row)) + end for row in rows if '"' not in str(row)).encode()
            layout = delimited.layout_of(f"{names}\n".encode(), files.File("people.csv", "people.csv"), "x", "id")
            found = []
            for choose in (delimited._regular, lambda *_: False):
                with monkeypatch.context() as patch:
                    patch.setattr(
                        delimited, "_regular", lambda *given, choose=choose: asked.append(choose(*given)) or asked[-1]
                    )
                    found.append([column.to_pylist() for column in delimited._columns(block, layout)])
            assert asked[-2:] == [True, False]
            assert found[0] == found[1]
            assert len(found[0][0]) == block.count(b"\n") > 20


#: pieces of lines: marks, separators, blanks, ends, numbers and bytes that are no text
PIECES = [
    b"3",
    b'"3"',
    b'"',
    b'""',
    b"\t",
    b",",
    b";",
    b"|",
    b" ",
    b"\r",
    b"\x0b",
    b"\0",
    b"+-",
    b".5",
    b"1e5",
    b"\xff",
    b"_",
]


def alone_and_together(separator, fields, generator):
    """Lines of pieces, read in one block and one by one: the number that each cell is."""
    from confide.releasing.readers import delimited

    layout = delimited.Layout(0, separator, fields, (fields - 1,), (True,), ("x",))

    def cells(block):
        columns = delimited._only_column(block, layout) if fields == 1 else None
        return [number_of(text) for text in (columns or delimited._columns(block, layout))[0].to_pylist()]

    lines = [b"".join(generator.choices(PIECES, k=generator.randrange(4))) + b"\n" for _ in range(8)]
    return [cell for line in lines for cell in cells(line)], cells(b"".join(lines))


@pytest.mark.parametrize("separator", b",\t;|")
def test_a_line_is_read_as_it_is_by_itself(separator):
    """A mark in one line once changed how blanks were read in all the others, where the separator is a blank: a tab."""
    generator = random.Random(separator)
    for _ in range(200):
        alone, together = alone_and_together(separator, generator.choice([1, 1, 2]), generator)
        assert repr(alone) == repr(together)


def test_a_mark_does_not_change_how_tabs_around_other_numbers_are_read(tmp_path):
    sums = []
    for first in (b"3", b'"3"', b"9" * 401):
        made = written(tmp_path / "one.tsv", one_column()([first, *[b"3\t"] * 7]))
        sums.append(total(PLAN, made))
    assert sums[0] == sums[1] == expected([3.0, *[None] * 7])
    assert sums[2] == expected([None] * 8)
