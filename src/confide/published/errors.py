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
    """The records cannot be released as they are.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=2)
    >>> cf.release(channel, [0.5, None])  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    confide.published.errors.DataError: ...
    """


class BudgetError(ConfideError):
    """The budget of the data set does not allow the release.

    >>> import confide as cf, tempfile, pathlib
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=2)
    >>> ledger = cf.Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
    >>> ledger.open("people", budget=cf.PureDP(0.5))
    >>> cf.release(channel, [0.0, 1.0], ledger=ledger, dataset="people")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    confide.published.errors.BudgetError: ...
    """


class LedgerError(ConfideError):
    """The ledger cannot be opened, read or written.

    >>> import confide as cf, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "budget.db"
    >>> _ = path.write_text("this is no ledger" * 100)
    >>> cf.Ledger(path).datasets()  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    confide.published.errors.LedgerError: ...
    """


class FileError(ConfideError):
    """A file is not a valid release.

    >>> import confide as cf, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "release.json"
    >>> _ = path.write_text("{}")
    >>> cf.Release.load(path)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    confide.published.errors.FileError: ...
    """


class MissingPackage(ConfideError, ImportError):
    """A package is not installed."""
