"""`verify`: whether a release file is as it was written, and whether a ledger has paid for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from confide.published.errors import FileError
from confide.published.release import Release


class Confirming(Protocol):
    """A ledger, as far as this needs one."""

    def confirms(self, release: Release) -> bool:
        """Whether a release is one of its entries, word for word."""


@dataclass(frozen=True)
class Verification:
    """What is known of a file; true where nothing speaks against it."""

    release: Release | None
    #: what is wrong, in words; empty where nothing is
    problem: str
    #: whether the ledger has this entry; None where no ledger was asked
    confirmed: bool | None

    def __bool__(self) -> bool:
        return not self.problem

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        if self.confirmed:
            return "the file is as it was written, and the ledger has the entry that paid for it"
        return "the file agrees with its digests; only the ledger that paid for it can confirm who wrote them"


def verify(path: str | Path, *, ledger: Confirming | None = None) -> Verification:
    """Whether a release file was edited since it was written and, with its ledger, whether it was paid for there.

    Without the ledger, an edit is found unless whoever made it computed the digests anew. The ledger finds that too:
    its entry has a seal that nobody else can make.

    >>> import confide as cf, tempfile
    >>> made = cf.Release(cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.01), n=5000), 0.4172)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made.save(f"{folder}/release.json")
    ...     print(verify(f"{folder}/release.json"))
    the file agrees with its digests; only the ledger that paid for it can confirm who wrote them
    """
    try:
        release = Release.load(path)
        told = json.loads(Path(path).read_bytes())
    except FileError as error:
        return Verification(None, str(error), None)
    if "provenance" not in told:
        return Verification(release, "the file says nothing about its provenance: an older version wrote it", None)
    if ledger is None:
        return Verification(release, "", None)
    if release.entry is None:
        return Verification(release, "no ledger paid for the release: its file names no entry", confirmed=False)
    if not ledger.confirms(release):
        return Verification(release, "the ledger has no such entry: it did not pay for this release", confirmed=False)
    return Verification(release, "", confirmed=True)
