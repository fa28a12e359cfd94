"""A progress bar for long work, on a terminal only. tqdm comes with numpyro, so it is always there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")


def progress(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Iterate, showing a bar with the time left once the work has taken two seconds."""
    yield from tqdm(items, desc=what, total=total, delay=2.0, leave=False, disable=not sys.stderr.isatty())
