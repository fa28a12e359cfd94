"""A cell is a number or missing: decided by the cell and by the declared type of its column, by nothing else.

If one record could decide how others are read (a type found by looking at records, an error that stops the reading),
replacing it would move more than its own share of a sum. So each declared type has one rule, which never fails:

* doubles as they are; narrower ones widened; whole numbers and truth values rounded to the nearest double;
* decimals through their text: a direct conversion depends on the declared scale in the last bit, and a scale is often
  found by looking at records;
* texts that are a decimal number of at most 400 characters: a sign, digits with or without a point, an exponent, blanks
  around (`-3`, `+.5`, `1e-3`). All others are missing: `n/a`, `0x10`, `1_000`, `3,4`, `inf`.

What is not finite is missing, and so is what lies beyond the largest double; what is too small for a double is 0.
Other types (dates, lists, intervals) are refused, whatever the records hold.

An identifier, which decides the part that a record is in, is a text by itself or a whole number by its decimal digits,
also if a column of doubles holds it (`3.0` is `3`: one missing value makes doubles of a column of integers); anything
else is missing, and all missing identifiers are in one place, that of the empty text.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from confide.expression.database import double

#: what may surround a number in a cell of text
_BLANKS = "[ \t\n\v\f\r]*"
#: the texts that are numbers, for every engine's regular expressions
NUMBER = f"^{_BLANKS}[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?{_BLANKS}$"
#: longer texts are missing: engines differ in how many digits they take
LONGEST = 400
_number = re.compile(NUMBER)
#: what makes bytes of a text, and the character set that it asks for
_AS_BYTES = {"duckdb": ("encode",), "postgres": ("convert_to", "UTF8"), "pyspark": ("encode", "UTF-8")}
#: PostgreSQL's decimals have an end too: no text of 400 characters with such an exponent is a double other than 0
_LONG_EXPONENT, _VANISHING = "[eE][+-]?0*[1-9][0-9]{4}", f"^{_BLANKS}[+-]?([0.]*[eE]|.*[eE]-)"
#: halfway from the largest double to the next power of two, and (rounded up) from 0 to the smallest double
_OVERFLOW, _UNDERFLOW = str(2**1024 - 2**970), "2.4703282292062328e-324"


def number(column: Any, engine: str) -> Any:
    """An Ibis column as doubles, or None if its type holds no numbers."""
    kind = column.type()
    if kind.is_floating() or kind.is_integer() or _is_null(kind):
        return column.cast("float64")
    if kind.is_boolean():
        return column.cast("int32").cast("float64")
    if kind.is_decimal():
        return _within_doubles(column) if engine == "postgres" else column.cast("string").cast("float64")
    return _number_in_text(column, engine) if kind.is_string() else None


def identifier(column: Any, engine: str) -> Any:
    """An Ibis column as the texts (or bytes) that identify records, or None if its type holds no identifiers."""
    kind = column.type()
    if kind.is_string() or kind.is_binary():
        return column
    if kind.is_integer() or (kind.is_decimal() and kind.scale == 0) or _is_null(kind):
        return column.cast("string")
    if not kind.is_floating():
        return None
    value = column.cast("float64")
    whole = (value.abs() <= double(2.0**53)) & (value == value.floor())
    # false for infinities and NaN; the cast of another branch must not fail before it is thrown away
    digits = value.cast("int64") if engine == "postgres" else value.try_cast("int64")
    return whole.ifelse(digits.cast("string"), _no_text())


def label(column: Any, engine: str) -> Any:
    """An Ibis column as texts that are looked for in a public list: identifiers, and truth values as true and false."""
    if not column.type().is_boolean():
        return identifier(column, engine)
    import ibis

    return ibis.cases((column, ibis.literal("true")), (~column, ibis.literal("false")), else_=_no_text())


def md5(identifier: Any) -> Any:
    """The engine's own md5, which all have under that name; missing identifiers are where the empty text is."""
    import ibis

    kind = identifier.type()
    return _builtin("md5", identifier.coalesce(ibis.literal(b"" if kind.is_binary() else "", kind)), returns="string")


def sha256(identifier: Any, engine: str) -> Any:
    """Hexadecimal digits of the SHA-256 of an identifier's bytes; missing identifiers are where the empty text is.

    Other than of MD5, nobody can make two identifiers that have one, and would be taken for one person.
    """
    import ibis

    binary = identifier.type().is_binary()
    found = identifier.coalesce(ibis.literal(b"" if binary else "", identifier.type()))
    if engine == "duckdb":
        return _builtin("sha256", found, returns="string")
    if engine == "pyspark":
        return _builtin("sha2", found, ibis.literal(256, "int32"), returns="string")
    # in the database's own encoding, of which no text can fail to be written
    plain = found if binary else _builtin("convert_to", found, _builtin("getdatabaseencoding", returns="string"))
    return _builtin("encode", _builtin("sha256", plain), ibis.literal("hex"), returns="string")


def _builtin(called: str, *arguments: Any, returns: str = "binary") -> Any:
    """What a function of the engine's own makes of up to two arguments."""
    import ibis

    def none() -> Any:
        """The engine's own, as are these two."""

    def one(first: Any) -> Any:
        """Of one argument."""

    def two(first: Any, second: Any) -> Any:
        """Of two arguments."""

    kinds = tuple(each.type() for each in arguments)
    function: Any = (none, one, two)[len(arguments)]
    return ibis.udf.scalar.builtin(name=called, signature=(kinds, returns))(function)(*arguments)


def is_between(identifier: Any, first: int, last: int, engine: str) -> Any:
    """Whether the first 32 bits of an identifier's MD5 are in [first, last).

    A database may sort texts by a collation (Danish `aa` comes after `z`), by which a record could be in two parts that
    do not overlap. Bytes have none.
    """
    import ibis

    name, *charset = _AS_BYTES[engine]

    def as_bytes(text: Any) -> Any:
        return _builtin(name, text, *map(ibis.literal, charset))

    place = as_bytes(md5(identifier).substr(0, 8))
    inside = place >= as_bytes(ibis.literal(f"{first:08x}"))
    return inside & (place < as_bytes(ibis.literal(f"{last:08x}"))) if last < 2**32 else inside


def is_text(identifier: Any, text: str, engine: str) -> Any:
    """Whether an identifier is this text, byte by byte: false for others, and for none unless the text is empty.

    A database may compare texts by a collation (`NOCASE`, blanks at the end of `char`), by which a record could be in
    two groups. Digests have none. Of two texts with one digest both would be groups of one record: MD5 has such texts,
    and SHA-256, by which a ledger tells groups apart as well, has none that anybody knows.
    """
    return sha256(identifier, engine) == hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def code(text: Any, categories: Sequence[str], *, collated: bool = False) -> Any:
    """The place of an identifier in a public list, as a double; one more than the last for any other, and for none.

    What comes from a database may be `collated`, and is compared by digests.

    >>> import ibis
    >>> ibis.to_sql(code(ibis.table({"ward": "string"}).ward, ["a"]).name("code"), dialect="duckdb").count("CASE")
    1
    """
    import ibis

    kind, found = text.type(), text
    known = [each.encode() if kind.is_binary() else each for each in categories]
    if collated:
        found = md5(text)
        known = [hashlib.md5(each.encode(), usedforsecurity=False).hexdigest() for each in categories]
    branches = [(found == ibis.literal(each, found.type()), double(float(i))) for i, each in enumerate(known)]
    return ibis.cases(*branches, else_=double(float(len(categories))))


def _is_null(kind: Any) -> bool:
    """The type of a column that holds nothing but missing values; Ibis does not know DuckDB's."""
    return bool(kind.is_null() or (kind.is_unknown() and str(kind.raw_type) == '"NULL"'))


def _number_in_text(text: Any, engine: str) -> Any:
    import ibis

    short = text.length() <= LONGEST
    if engine == "duckdb":
        # DuckDB's own numbers, other than these two and than infinities, are those of the rule; this is its fast way
        strange = text.contains("_") | text.contains("+-")
        return (short & ~strange).ifelse(text.try_cast("float64"), _nothing())
    readable = short & text.re_search(NUMBER)
    if engine != "postgres":
        return readable.ifelse(text.try_cast("float64"), _nothing())
    beyond = text.re_search(_VANISHING).ifelse(double(0.0), _nothing())
    return ibis.cases(
        (~readable, _nothing()),
        (text.re_search(_LONG_EXPONENT), beyond),
        else_=_within_doubles(text.cast("decimal")),
    )


def _within_doubles(column: Any) -> Any:
    """PostgreSQL's decimals hold more than doubles, and a cast of what is too large or too small is an error there."""
    import ibis

    size = column.abs()
    return ibis.cases(
        (size < ibis.literal(_UNDERFLOW).cast("decimal"), double(0.0)),
        (size < ibis.literal(_OVERFLOW).cast("decimal"), column.cast("float64")),
        else_=_nothing(),
    )


def _nothing() -> Any:
    import ibis

    return ibis.null("float64")


def _no_text() -> Any:
    import ibis

    return ibis.null("string")


def is_plain(kind: type) -> bool:
    """Whether cells of a type are numbers to everybody: a class derived from one may be another number to `float`."""
    return kind in (int, float, bool) or (issubclass(kind, np.number | np.bool_) and kind.__module__ == "numpy")


def number_of(cell: Any) -> float:
    """The same rule for an object of Python: a number, or NaN.

    >>> [number_of(cell) for cell in (True, 2**70, "+3", Decimal("0.1"), Fraction(1, 4), "0x10", None, Decimal("NaN"))]
    [1.0, 1.1805916207174113e+21, 3.0, 0.1, 0.25, nan, nan, nan]
    """
    try:
        if isinstance(cell, str):
            return float(cell) if len(cell) <= LONGEST and _number.match(cell) else math.nan
        if isinstance(cell, int | float | Decimal | Fraction):
            return float(cell)
        if not hasattr(type(cell), "__array__"):
            return math.nan  # a sequence would be iterated over, and may have no end
        array = np.asarray(cell)
        readable = array.ndim == 0 and array.dtype.kind in "fiub" and not np.ma.is_masked(cell)
        return float(array) if readable else math.nan
    except Exception:  # a signalling NaN, a whole number beyond doubles, an object that cannot be read at all
        return math.nan


def identifier_of(cell: Any) -> str | None:
    """The same rule for an object of Python: a text, or None.

    >>> [identifier_of(cell) for cell in ("007", 7, 7.0, 7.5, None, True)]
    ['007', '7', '7', None, None, None]
    """
    if isinstance(cell, str):
        # half of a pair of surrogates is no text that can be handed on
        return cell.encode("utf-8", "replace").decode()
    if isinstance(cell, bool | np.bool_):
        return None
    whole = isinstance(cell, float | np.floating) and abs(float(cell)) <= 2.0**53 and float(cell).is_integer()
    # Python refuses to write whole numbers of thousands of digits
    small = isinstance(cell, int | np.integer) and int(cell).bit_length() <= 4096
    return str(int(cell)) if whole or small else None


def label_of(cell: Any) -> str | None:
    """The rule for texts that are looked for in a list, for an object of Python.

    >>> [label_of(cell) for cell in ("surgery", 7, True, None)]
    ['surgery', '7', 'true', None]
    """
    return str(bool(cell)).lower() if isinstance(cell, bool | np.bool_) else identifier_of(cell)
