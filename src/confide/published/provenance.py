"""Provenance: digests by which a reader can see that a release file is as it was written, and a ledger that it paid.

A file's *provenance* has a digest of the channel, one of what came out, the entry of the ledger that paid (which
ledger, which entry, its seal), and one digest over all of that and over every other field. Whoever edits a field by
accident is found out by the digests alone. Whoever edits one on purpose can compute digests too, but not the seal: that
is keyed with the ledger's secret, so the ledger itself is asked. Nothing of this depends on the records, but through
the noisy value.

Fields that a later version adds must be absent by default, so that the digests of files without them stay as they are.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from confide.published.errors import FileError

if TYPE_CHECKING:
    from confide.published.release import Entry
    from confide.published.schema import ReleaseForm

#: what a release found out, beside what it is
_OUTCOME = ("value", "integers", "records")


def digest_of(form: Any) -> str:
    """The SHA-256 of a JSON value in its canonical text: sorted names, no blanks, numbers as Python writes them.

    >>> digest_of({"b": 1.5, "a": None})[:16]
    'd01dfafa1d38f331'
    """
    text = json.dumps(form, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def provenance_of(form: dict[str, Any], entry: Entry | None) -> dict[str, Any]:
    """The provenance of a file, from all of its other fields in the order and the types that the schema gives them."""
    from confide.published.schema import ReleaseForm

    return _provenance(ReleaseForm.model_validate(form), None if entry is None else dict(vars(entry)))


def check(form: ReleaseForm) -> None:
    """Refuse a file that was edited since it was written; one that says nothing about its provenance is taken as is."""
    if form.provenance is None:
        return
    told = form.provenance.model_dump(exclude_none=True)
    found = _provenance(form, told.get("entry"))
    for name, what in (("channel", "the channel"), ("outcome", "what came out"), ("digest", "a field")):
        if told[name] != found[name]:
            raise FileError(f"the file was edited since it was written: {what} has another digest")


def _provenance(form: ReleaseForm, entry: dict[str, Any] | None) -> dict[str, Any]:
    told = form.model_dump(mode="json", exclude={"provenance"}, exclude_none=True)
    parts = {
        "channel": digest_of(told["channel"]),
        "outcome": digest_of({name: told[name] for name in _OUTCOME if name in told}),
    } | ({} if entry is None else {"entry": entry})
    return parts | {"digest": digest_of({"release": told, "provenance": parts})}
