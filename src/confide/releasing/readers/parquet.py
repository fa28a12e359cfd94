"""Parquet files: each read by its own schema, its cells made numbers, and only then put one after the other.

Read as one table, the types of the first file would be those of all, so that one missing value there, which makes
doubles of integers, would change how every other record is read.
"""

from __future__ import annotations

import glob
from functools import partial
from itertools import groupby
from typing import Any

from confide.published.errors import DataError
from confide.releasing.readers.engine import quietly
from confide.releasing.readers.files import File
from confide.releasing.readers.table.asked import Asked, chosen

#: how often the schema may change from file to file
MOST_SCHEMAS = 200


def parquet_tables(connection: Any, files: list[File], asked: Asked, identifier: str | None) -> list[Any]:
    """Tables of the columns asked for, in the order of the files: one for each run of one schema."""
    problem = "the file cannot be read as Parquet"
    schemas = quietly(lambda: [(_schema(connection, file), file) for file in files], problem)
    runs = [(schema, [file for _, file in run]) for schema, run in groupby(schemas, key=lambda each: each[0])]
    if len(runs) > MOST_SCHEMAS:
        raise DataError(f"the schema changes {len(runs)} times from file to file; write the files with one schema")
    tables = []
    for schema, run in runs:
        names = [name for name, _ in schema]
        found = chosen(asked, names, identifier)
        # a text that is no UTF-8 would be an error, which one record causes
        text = any(kind == "VARCHAR" for name, kind in schema if name in found.values())
        options = {"utf8_validation": "replace"} if text else {}
        tables.append(quietly(partial(_table, connection, run, found, options), problem))
    return tables


def count_of(connection: Any, files: list[File]) -> int:
    """The number of records by the files' own words: nothing is read, so that what is too much is refused at once."""
    query = "SELECT sum(num_rows) FROM parquet_file_metadata(?)"
    names = [glob.escape(file.path) for file in files]
    found = quietly(lambda: connection.con.execute(query, [names]).fetchall(), "the file cannot be read as Parquet")
    return int(found[0][0])


def _schema(connection: Any, file: File) -> tuple[tuple[str, str], ...]:
    query = "DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning = false)"
    return tuple((row[0], row[1]) for row in connection.con.execute(query, [glob.escape(file.path)]).fetchall())


def _table(connection: Any, files: list[File], chosen: dict[str, str], options: dict[str, str]) -> Any:
    names = [glob.escape(file.path) for file in files]
    table = connection.read_parquet(names, hive_partitioning=False, union_by_name=False, **options)
    return table.select(**{new: table[old] for new, old in chosen.items()})
