"""What is published: releases, their file format and the parts that they describe. Nothing here can read records."""

from confide.published.errors import BudgetError, DataError, FileError, LedgerError
from confide.published.part import Hashed, Rows
from confide.published.release import Release
from confide.published.verify import verify

__all__ = ["BudgetError", "DataError", "FileError", "Hashed", "LedgerError", "Release", "Rows", "verify"]
