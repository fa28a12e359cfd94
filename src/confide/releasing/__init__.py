"""Releasing for real: the only package that reads records. Nothing that models, chooses or infers may import it."""

import typing

from confide._lazy import lazily

if typing.TYPE_CHECKING:
    from confide.releasing.auditing import Audit, audit
    from confide.releasing.ledger.ledger import Ledger
    from confide.releasing.verb import release

__all__ = ["Audit", "Ledger", "audit", "release"]

__getattr__ = lazily(__name__, {"auditing": ("Audit", "audit"), "ledger.ledger": ("Ledger",), "verb": ("release",)})
