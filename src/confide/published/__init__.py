"""What is published: releases, their file format and the parts that they describe. Nothing here can read records."""

import typing

from confide._lazy import lazily
from confide.published.errors import BudgetError, DataError, FileError, LedgerError
from confide.published.part import Grouped, Hashed, Rows

if typing.TYPE_CHECKING:
    from confide.published.release import Release
    from confide.published.statement import Statement

__all__ = ["BudgetError", "DataError", "FileError", "Grouped", "Hashed", "LedgerError", "Release", "Rows", "Statement"]

__getattr__ = lazily(__name__, {"release": ("Release",), "statement": ("Statement",)})
