"""Packages that the modelling core does without, and the one sentence that is said when one of them is missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from confide.published.errors import MissingPackage


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Say how to install what is missing.

    >>> with needs("release"):
    ...     import a_package_that_nobody_has
    Traceback (most recent call last):
    ...
    confide.published.errors.MissingPackage: a_package_that_nobody_has is not installed; pip install "confide[release]"
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "confide"):
            raise
        raise MissingPackage(f'{package} is not installed; pip install "confide[{extra}]"') from error
