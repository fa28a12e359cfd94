"""The table of an `Each` release: one noisy whole number per record, in a Parquet file that is named by its digest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from confide.channel import Channel
from confide.published.errors import FileError

#: the columns of the file: the whole number that was released, and the value that it stands for
COUNT, VALUE = "count", "value"
_BLOCK = 2**20


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def values_of(channel: Channel, counts: Any, step: Fraction) -> Any:
    """What noisy whole numbers stand for: multiples of the step, or the level of that index for randomized response.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Each("x > 2", (0, 5)), cf.RandomizedResponse(cf.PureDP(1.0)), n=3)
    >>> values_of(channel, np.array([0, 1, 1]), Fraction(1)).tolist()
    [0.0, 1.0, 1.0]
    """
    if channel.law.answers is not None:
        return np.asarray(channel.law.answers)[counts]
    return np.asarray(counts, dtype=np.float64) * float(step)


@dataclass(frozen=True)
class Records:
    """A Parquet file of noisy records, and the digest that it must have."""

    path: Path
    digest: str
    step: Fraction

    def check(self) -> None:
        """Refuse a file that is missing or has changed."""
        try:
            found = digest_of(self.path)
        except OSError as error:
            raise FileError(f"the table {self.path.name} of the release cannot be read: {error.strerror}") from error
        if found != self.digest:
            raise FileError(f"the table {self.path.name} has changed since it was released; restore the original")

    def values(self, channel: Channel) -> Any:
        """The noisy values, in the order of the file, which is shuffled."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.check()
        try:
            with pq.ParquetFile(self.path) as file:
                if file.metadata.num_rows != channel.n:
                    raise self._wrong(channel)  # before a small file grows to any size
                counts = file.read(columns=[COUNT]).column(COUNT)
            whole = np.asarray(counts.combine_chunks().cast(pa.int64()).to_numpy(zero_copy_only=False))
        except (pa.ArrowException, OSError, KeyError) as error:
            raise FileError(f"the table {self.path.name} is not a table of counts: {error}") from error
        if whole.dtype != np.int64 or whole.shape != (channel.n,):
            raise self._wrong(channel)
        if channel.law.answers is not None and not np.all((whole >= 0) & (whole < len(channel.law.answers))):
            raise FileError(f"the table {self.path.name} holds answers that are not among the levels")
        return values_of(channel, whole, self.step)

    def _wrong(self, channel: Channel) -> FileError:
        return FileError(f"the table {self.path.name} does not hold one whole number for each of {channel.n} records")
