"""`Each`: one noisy whole number per record, streamed to a Parquet file in an order that says nothing.

The records pass through in batches, so memory does not grow with n, and only noisy numbers are ever written. The
order is a uniform permutation, made in two passes: every noisy number goes to one of several buckets by chance, and
each bucket is permuted when it is read back.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from confide.published.errors import DataError
from confide.published.records import COUNT, VALUE, Records, digest_of, values_of
from confide.releasing.exact import below_many, permutation
from confide.releasing.whole_numbers import Plan

#: records that are permuted in memory at once
BUCKET = 2**20


def stream(plan: Plan, batches: Iterable[Any], path: Path) -> Records:
    """Publish every record of the batches, in a random order, as the table at `path`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(COUNT, pa.int64()), (VALUE, pa.float64())])
    noisy = (plan.publish(batch) for batch in batches if len(batch))
    try:
        with pq.ParquetWriter(path, schema) as writer:
            for counts in _shuffled(noisy, math.ceil(plan.channel.n / BUCKET), path.parent):
                values = values_of(plan.channel, counts, plan.step)
                writer.write_table(pa.table({COUNT: counts, VALUE: values}, schema=schema))
        with path.open("rb") as file:
            os.fsync(file.fileno())
    except OSError as error:
        raise DataError(f"the noisy records cannot be written: {error.strerror or error}") from error
    return Records(path, digest_of(path), plan.step)


def _shuffled(batches: Iterator[Any], buckets: int, folder: Path) -> Iterator[Any]:
    """The numbers of all batches in a uniformly random order, a bucket at a time."""
    with tempfile.TemporaryDirectory(dir=folder) as spool:
        files = [(Path(spool) / str(index)).open("w+b") for index in range(buckets)]
        try:
            for batch in batches:
                counts = np.ascontiguousarray(batch, dtype=np.int64)
                bucket = below_many(buckets, len(counts))
                for index in np.unique(bucket):
                    files[index].write(counts[bucket == index].tobytes())
            for file in files:
                file.seek(0)
                counts = np.frombuffer(file.read(), dtype=np.int64)
                yield counts[permutation(len(counts))]
        finally:
            for file in files:
                file.close()
