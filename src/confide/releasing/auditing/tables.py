"""Writing a generated table for each reader: what a user would have, on disk, in memory or in a database."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
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
class Workshop:
    """Where tables are made: a folder, and a connection to a server in which temporary tables may be made."""

    folder: Path
    server: Any = None

    def make(self, shape: Shape, columns: Sequence[Sequence[Any]], ids: Sequence[int] | None) -> list[Made]:
        """A table of each column of cells, with identifiers if there are any; what was made before is removed."""
        for path in self.folder.iterdir():
            path.unlink()
        if shape.reader.startswith("duckdb"):
            return self._duckdb(shape, columns, ids)
        maker: Callable[[Shape, Sequence[Any], Sequence[int] | None, str], Made] = getattr(
            self, "_" + shape.reader.replace(".", "_").replace(" ", "_")
        )
        return [maker(shape, cells, ids, f"people{index}") for index, cells in enumerate(columns)]

    def _csv(self, shape: Shape, cells: Sequence[Any], ids: Sequence[int] | None, name: str) -> Made:
        """Cells are written as they are: a quote or a delimiter in one is what somebody's export left there."""
        path = self.folder / f"{name}.{shape.reader}"
        comma = "\t" if shape.reader == "tsv" else ","
        texts = ["" if cell is None else str(cell) for cell in cells]
        if ids is None:
            lines = [COLUMN, *texts]
        else:
            lines = [f"{ID}{comma}{COLUMN}", *(f"{i}{comma}{text}" for i, text in zip(ids, texts, strict=True))]
        content = ("\n".join(lines) + "\n").encode()
        path.write_bytes(gzip.compress(content, 1) if shape.reader.endswith(".gz") else content)
        return Made(path)

    _tsv = _csv_gz = _csv

    def _parquet(self, shape: Shape, cells: Sequence[Any], ids: Sequence[int] | None, name: str) -> Made:
        import pyarrow.parquet as pq

        path = self.folder / f"{name}.parquet"
        pq.write_table(_arrow_table(shape.kind, cells, ids), path)
        return Made(path)

    def _parquet_glob(self, shape: Shape, cells: Sequence[Any], ids: Sequence[int] | None, name: str) -> Made:
        """Three files (or fewer), each of them with the type of its own cells where types are inferred."""
        import pyarrow.parquet as pq

        for index, rows in enumerate(np.array_split(np.arange(len(cells)), 3)):
            if len(rows):
                part = [cells[row] for row in rows]
                numbered = None if ids is None else [ids[row] for row in rows]
                pq.write_table(_arrow_table(shape.kind, part, numbered), self.folder / f"{name}-{index}.parquet")
        return Made(str(self.folder / f"{name}-*.parquet"))

    def _arrow(self, shape: Shape, cells: Sequence[Any], ids: Sequence[int] | None, name: str) -> Made:
        del name
        return Made(_arrow_table(shape.kind, cells, ids))

    def _pandas(self, shape: Shape, cells: Sequence[Any], ids: Sequence[int] | None, name: str) -> Made:
        import pandas as pd

        del name
        dtypes = {"objects": "object", "int64": "Int64", "bool": "boolean", "inferred": None}
        column = pd.Series(list(cells), dtype=dtypes.get(shape.kind, shape.kind))
        return Made(pd.DataFrame({COLUMN: column} if ids is None else {ID: list(ids), COLUMN: column}))

    def _polars(self, shape: Shape, cells: Sequence[Any], ids: Sequence[int] | None, name: str) -> Made:
        import polars as pl

        del name
        types: dict[str, Any] = {"float64": pl.Float64, "int64": pl.Int64, "decimal": pl.Decimal(38, 9)}
        column = pl.Series(COLUMN, list(cells), dtype=types[shape.kind])
        return Made(pl.DataFrame([column] if ids is None else [pl.Series(ID, list(ids)), column]))

    def _list(self, shape: Shape, cells: Sequence[Any], ids: Sequence[int] | None, name: str) -> Made:
        del shape, ids, name
        return Made(list(cells), None)

    def _numpy(self, shape: Shape, cells: Sequence[Any], ids: Sequence[int] | None, name: str) -> Made:
        del ids, name
        if shape.kind == "objects":
            array = np.empty(len(cells), dtype=object)
            array[:] = list(cells)
            return Made(array, None)
        gone = [cell is None for cell in cells]
        values = np.asarray([0 if cell is None else cell for cell in cells], dtype=shape.kind)
        return Made(np.ma.masked_array(values, mask=gone) if any(gone) else values, None)

    def _duckdb(self, shape: Shape, columns: Sequence[Sequence[Any]], ids: Sequence[int] | None) -> list[Made]:
        """All tables in one database, and a view of each."""
        import duckdb

        path = self.folder / "people.duckdb"
        with duckdb.connect(str(path)) as database:
            for index, cells in enumerate(columns):
                numbered = range(len(cells)) if ids is None else ids
                rows = list(zip(numbered, cells, strict=True))
                database.execute(f"CREATE TABLE table{index} ({ID} BIGINT, {COLUMN} {_SQL[shape.kind]})")
                database.execute(
                    f"INSERT INTO table{index} VALUES {', '.join(['(?, ?)'] * len(rows))}",
                    [x for row in rows for x in row],
                )
                database.execute(f"CREATE VIEW view{index} AS SELECT {ID}, {COLUMN} FROM table{index}")
        return [Made(f"duckdb://{path}", COLUMN, f"{shape.reader.split()[1]}{index}") for index in range(len(columns))]

    def _postgres(self, shape: Shape, cells: Sequence[Any], ids: Sequence[int] | None, name: str) -> Made:
        """A temporary table, which only this connection sees and which ends with it."""
        kind = "numeric" if shape.kind == "decimal" else _SQL[shape.kind]
        numbered = range(len(cells)) if ids is None else ids
        rows = [(i, None if cell is None else str(cell)) for i, cell in zip(numbered, cells, strict=True)]
        with self.server.con.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS pg_temp.{name}")
            cursor.execute(f"CREATE TEMPORARY TABLE {name} ({ID} bigint, {COLUMN} {kind})")
            cursor.executemany(f"INSERT INTO pg_temp.{name} VALUES (%s, CAST(%s::text AS {kind}))", rows)
        self.server.con.commit()
        return Made(self.server, COLUMN, name)


def _arrow_table(kind: str, cells: Sequence[Any], ids: Sequence[int] | None) -> Any:
    import pyarrow as pa

    types = {"text": pa.string(), "decimal": pa.decimal128(38, 9), "bool": pa.bool_(), "inferred": None}
    declared = types[kind] if kind in types else getattr(pa, kind)()
    column = pa.array(list(cells), declared)
    return pa.table({COLUMN: column} if ids is None else {ID: pa.array(list(ids), pa.int64()), COLUMN: column})
