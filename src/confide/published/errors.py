"""The errors of publishing: data that cannot be released, budgets that are spent, ledgers and files that are broken.

They descend from `ConfideError`::

    ConfideError
    ├── DataError        records that cannot be released as they are: missing values, another n, text
    ├── BudgetError      a release that its data set's budget does not allow
    ├── LedgerError      a ledger that cannot be opened, read or written
    ├── FileError        a file that is no valid release
    └── MissingPackage (also ImportError)      a package that this needs, and the core does without

None of their messages holds anything that depends on the records' values: an error is read by people, and kept in logs,
that the guarantee knows nothing about.
"""

from __future__ import annotations

from confide.errors import ConfideError


class DataError(ConfideError):
    """The records cannot be released as they are."""


class BudgetError(ConfideError):
    """The budget of the data set does not allow the release."""


class LedgerError(ConfideError):
    """The ledger cannot be opened, read or written."""


class FileError(ConfideError):
    """A file is not a valid release."""


class MissingPackage(ConfideError, ImportError):
    """A package is not installed."""
