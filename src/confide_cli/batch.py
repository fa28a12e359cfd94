"""`account`: what several releases promise together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from confide import privacy
from confide.errors import InvalidArgument
from confide_cli.show import emit, say
from confide_cli.words import read_privacy

#: chosen: what is counted is composed one by one
_MOST = 10**6


def account(texts: Sequence[str], delta: float, as_json: bool) -> None:
    """The guarantee of a batch that is fixed in advance, beside that of releases chosen one after the other."""
    guarantees = [each for text in texts for each in _read(text)]
    batch = privacy.account(guarantees, delta=delta)
    adaptive = privacy.compose(guarantees, delta=delta)

    def show() -> None:
        say(f"Together, if all {len(guarantees):,} are fixed before the first value is seen: {batch}")
        say(f"If each may be chosen in view of those before: {adaptive}")

    told: dict[str, Any] = {"command": "account", "releases": len(guarantees)}
    if as_json:
        from confide.published.terms import encode_privacy

        told |= {"guarantee": encode_privacy(batch), "adaptive": encode_privacy(adaptive)}
    emit(as_json, told, show)


def _read(text: str) -> list[privacy.Privacy]:
    """`pure:0.1`, or `100*pure:0.1`."""
    count, star, rest = text.partition("*")
    if not star:
        return [read_privacy(text, "GUARANTEES")]
    if not (count.isascii() and count.isdigit() and len(count) < 9 and 1 <= int(count) <= _MOST):
        remedy = f"write a whole number up to {_MOST:,}, as in 100*pure:0.1"
        raise InvalidArgument("GUARANTEES", text, "has no count before the star", remedy)
    return [read_privacy(rest, "GUARANTEES")] * int(count)
