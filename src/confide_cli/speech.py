"""What the library says, in the words of the command line: `missing=3` is `--missing 3` here."""

from __future__ import annotations

import re

#: arguments of the verbs that have an option of the same name
_OPTIONS = (
    "bounds", "chains", "column", "criterion", "dataset", "draws", "key", "ledger", "method", "missing", "n", "part",
    "prior", "privacy", "purpose", "route", "table", "theta", "warmup",
)  # fmt: skip
#: what is said by a switch
_SWITCHES = {
    "same_records=True": "--same-records",
    "same_records=False": "--different-records",
    "same_quantity=True": "--same-quantity",
    "fresh=True": "--fresh",
    '"missing": dist.Beta(1.0, 19.0)': '--prior "missing ~ Beta(1, 19)"',
    "say release.present(missing=count)": "take them out in Python, with release.present(missing=count)",
}
_SWITCH = re.compile("|".join(map(re.escape, _SWITCHES)))
# an argument that is not inside of a call: laplace(step=1) is written so here too
_ARGUMENT = re.compile(rf"(?<![\w.(-])({'|'.join(_OPTIONS)})=(?=[^\s=])")
_FIRST = re.compile(rf"^({'|'.join((*_OPTIONS, 'same_records', 'same_quantity'))}) = ")


def spoken(text: str) -> str:
    """A message with arguments as they are typed.

    >>> spoken('missing = 90.0 is no number within the bounds; give missing="public", or say same_records=False')
    '--missing 90.0 is no number within the bounds; give --missing "public", or say --different-records'
    """
    text = _SWITCH.sub(lambda found: _SWITCHES[found[0]], text)
    text = _ARGUMENT.sub(r"--\1 ", text)
    return _FIRST.sub(lambda found: f"--{found[1].replace('_', '-')} ", text)
