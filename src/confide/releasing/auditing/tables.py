"""Writing a generated table for each reader: what a user would have, on disk, in memory or in a database."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from confide.releasing.auditing.shapes import Shape

#: the released column, and that of public identifiers
COLUMN, ID = "x", "id"
_SQL = {
    "float64": "double precision", "float32": "real", "int64": "bigint", "int32": "integer", "uint64": "ubigint",
    "bool": "boolean", "decimal": "decimal(38, 9)", "text": "varchar",
}  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A table, as `release` is given it."""

    data: Any
    column: str | None = COLUMN
    table: str | None = None


@dataclass(frozen=True)
class TypedColumn:
    """A column of a table: the type that it is declared with, and what it holds."""

    kind: str
    values: Sequence[Any]


#: a table: its columns by name, in order
Table = Mapping[str, TypedColumn]


@dataclass(frozen=True)
class Workshop:
    """Where tables are made: a folder, and a connection to a server in which temporary tables may be made."""

    folder: Path
    server: Any = None

    def make(self, shape: Shape, tables: Sequence[Table]) -> list[Made]:
        """Tables of a shape, as a user would have them; what was made before is removed."""
        for path in self.folder.iterdir():
            path.unlink()
        if shape.reader.startswith("duckdb"):
            return self._duckdb(shape, tables)
        maker: Callable[[Shape, Table, str], Made] = getattr(
            self, "_" + shape.reader.replace(".", "_").replace(" ", "_")
        )
        return [maker(shape, table, f"people{index}") for index, table in enumerate(tables)]

    def _csv(self, shape: Shape, table: Table, name: str) -> Made:
        """TypedColumn are written as they are: a quote or a delimiter in one is what somebody's export left there."""
        path = self.folder / f"{name}.{shape.reader}"
        comma = "\t" if shape.reader == "tsv" else ","
        columns = [["" if cell is None else str(cell) for cell in cells.values] for cells in table.values()]
        lines = [comma.join(table), *map(comma.join, zip(*columns, strict=True))]
        content = ("\n".join(lines) + "\n").encode()
        path.write_bytes(gzip.compress(content, 1) if shape.reader.endswith(".gz") else content)
        return _made(path, table)

    _tsv = _csv_gz = _csv

    def _parquet(self, shape: Shape, table: Table, name: str) -> Made:
        import pyarrow.parquet as pq

        del shape
        path = self.folder / f"{name}.parquet"
        pq.write_table(_arrow_table(table), path)
        return _made(path, table)

    def _parquet_glob(self, shape: Shape, table: Table, name: str) -> Made:
        """Three files (or fewer), each of them with the type of its own cells where types are inferred."""
        import pyarrow.parquet as pq

        del shape
        for index, rows in enumerate(np.array_split(np.arange(_rows(table)), 3)):
            if len(rows) or index == 0:
                part = {key: TypedColumn(each.kind, [each.values[row] for row in rows]) for key, each in table.items()}
                pq.write_table(_arrow_table(part), self.folder / f"{name}-{index}.parquet")
        return _made(str(self.folder / f"{name}-*.parquet"), table)

    def _arrow(self, shape: Shape, table: Table, name: str) -> Made:
        del shape, name
        return _made(_arrow_table(table), table)

    def _pandas(self, shape: Shape, table: Table, name: str) -> Made:
        import pandas as pd

        del shape, name
        dtypes = {"objects": "object", "text": "object", "int64": "Int64", "bool": "boolean", "inferred": None}
        columns = {
            key: pd.Series(list(each.values), dtype=dtypes.get(each.kind, each.kind)) for key, each in table.items()
        }
        return _made(pd.DataFrame(columns), table)

    def _polars(self, shape: Shape, table: Table, name: str) -> Made:
        import polars as pl

        del shape, name
        types: dict[str, Any] = {
            "float64": pl.Float64, "int64": pl.Int64, "decimal": pl.Decimal(38, 9), "text": pl.String,
        }  # fmt: skip
        columns = [pl.Series(key, list(each.values), dtype=types[each.kind]) for key, each in table.items()]
        return _made(pl.DataFrame(columns), table)

    def _list(self, shape: Shape, table: Table, name: str) -> Made:
        del shape, name
        columns = {key: list(each.values) for key, each in table.items()}
        return Made(columns[COLUMN], None) if list(columns) == [COLUMN] else _made(columns, table)

    def _numpy(self, shape: Shape, table: Table, name: str) -> Made:
        del shape, name
        columns = {key: _array(each) for key, each in table.items()}
        return Made(columns[COLUMN], None) if list(columns) == [COLUMN] else _made(columns, table)

    def _duckdb(self, shape: Shape, tables: Sequence[Table]) -> list[Made]:
        """All tables in one database, and a view of each."""
        import duckdb

        path = self.folder / "people.duckdb"
        with duckdb.connect(str(path)) as database:
            for index, table in enumerate(map(_numbered, tables)):
                rows = list(zip(*(each.values for each in table.values()), strict=True))
                columns = ", ".join(f'"{key}" {_SQL[each.kind]}' for key, each in table.items())
                database.execute(f"CREATE TABLE table{index} ({columns})")
                if rows:
                    marks = f"({', '.join('?' * len(table))})"
                    database.execute(
                        f"INSERT INTO table{index} VALUES {', '.join([marks] * len(rows))}",
                        [x for row in rows for x in row],
                    )
                database.execute(f"CREATE VIEW view{index} AS SELECT * FROM table{index}")
        kind = shape.reader.split()[1]
        return [_made(f"duckdb://{path}", table, f"{kind}{index}") for index, table in enumerate(tables)]

    def _postgres(self, shape: Shape, table: Table, name: str) -> Made:
        """A temporary table, which only this connection sees and which ends with it."""
        del shape
        columns = _numbered(table)
        kinds = ["numeric" if each.kind == "decimal" else _SQL[each.kind] for each in columns.values()]
        rows = [
            tuple(None if cell is None else str(cell) for cell in row)
            for row in zip(*(each.values for each in columns.values()), strict=True)
        ]
        told = ", ".join(f'"{key}" {kind}' for key, kind in zip(columns, kinds, strict=True))
        marks = ", ".join(f"CAST(%s::text AS {kind})" for kind in kinds)
        with self.server.con.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS pg_temp.{name}")
            cursor.execute(f"CREATE TEMPORARY TABLE {name} ({told})")
            cursor.executemany(f"INSERT INTO pg_temp.{name} VALUES ({marks})", rows)
        self.server.con.commit()
        return _made(self.server, table, name)


def _made(data: Any, table: Table, name: str | None = None) -> Made:
    """A table whose columns are found by name; of one that is called x it is said that it is released."""
    return Made(data, COLUMN if COLUMN in table else None, name)


def _rows(table: Table) -> int:
    return len(next(iter(table.values())).values)


def _numbered(table: Table) -> Table:
    """A table with identifiers: tables of databases have some column beside the one that is released."""
    return table if len(table) > 1 else {ID: TypedColumn("int64", range(_rows(table))), **table}


def _array(cells: TypedColumn) -> Any:
    if cells.kind in ("objects", "text"):
        array = np.empty(len(cells.values), dtype=object)
        array[:] = list(cells.values)
        return array
    gone = [cell is None for cell in cells.values]
    values = np.asarray([0 if cell is None else cell for cell in cells.values], dtype=cells.kind)
    return np.ma.masked_array(values, mask=gone) if any(gone) else values


def _arrow_table(table: Table) -> Any:
    import pyarrow as pa

    types = {"text": pa.string(), "decimal": pa.decimal128(38, 9), "bool": pa.bool_(), "inferred": None}
    columns = {
        key: pa.array(list(each.values), types[each.kind] if each.kind in types else getattr(pa, each.kind)())
        for key, each in table.items()
    }
    return pa.table(columns)
