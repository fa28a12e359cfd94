"""What the library says, in the words of the command line: `missing=3` is `--missing 3` here."""

from __future__ import annotations

import re

#: arguments of the verbs that have an option of the same name
_OPTIONS = (
    "bounds", "chains", "column", "criterion", "dataset", "draws", "key", "ledger", "level", "maximize",
    "method", "missing", "n", "part", "prior", "privacy", "purpose", "route", "sd", "table", "theta", "warmup",
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
#: classes of the library and what they are called here
_WORDS = {
    "PureDP": "pure", "ApproxDP": "approx", "ZCDP": "zcdp", "GDP": "gdp", "SmoothLaplace": "smooth_laplace",
    "SmoothCauchy": "smooth_cauchy", "RandomizedResponse": "randomized_response",
    "Unlimited()": "--mechanism noiseless",
}  # fmt: skip
#: other phrases
_PHRASES = {
    r"ledger\.open\('([^']*)', budget=…\)": r"confide ledger LEDGER '\1' --budget pure:1",
    r"the only variable is x\b": "x stands for the values of the column that --column names",
    r"^expression = ": "--statistic ",
    r"^--(dataset|column) None ": r"--\1 ",
    # of columns, in braces as Python writes them: here as name=value
    r"for each column that may lack one, as in \{'(\w+)': …\}": r"for each column that may lack one, as in \1=…",
    r"\bPureDP\(epsilon=([^)]*)\)": r"pure:\1",
    r"\bZCDP\(rho=([^)]*)\)": r"zcdp:\1",
    r"\bGDP\(mu=([^)]*)\)": r"gdp:\1",
    r"\bApproxDP\(epsilon=([^,]*), delta=([^)]*)\)": r"approx:\1,\2",
}
_CLASS = re.compile(rf"\b(?:{'|'.join(map(re.escape, _WORDS))})")
_SWITCH = re.compile("|".join(map(re.escape, _SWITCHES)))
# an argument that is not inside of a call: laplace(step=1) is written so here too
_ARGUMENT = re.compile(rf"(?<![\w.(-])({'|'.join(_OPTIONS)})=(?=[^\s=])")
_FIRST = re.compile(rf"^({'|'.join((*_OPTIONS, 'same_records', 'same_quantity'))}) (?:= |(?=is not said))")


def _in_call(text: str, place: int) -> bool:
    """Whether a place is between the brackets of a call, such as Mean('x', bounds=(0, 1))."""
    open_brackets: list[bool] = []
    for before, character in zip(" " + text[:place], text[:place], strict=False):
        if character == "(":
            open_brackets.append(before.isalnum())
        elif character == ")" and open_brackets:
            open_brackets.pop()
    return any(open_brackets)


def spoken(text: str) -> str:
    """A message with arguments as they are typed.

    >>> spoken('missing = 90.0 is no number within the bounds; give missing="public", or say same_records=False')
    '--missing 90.0 is no number within the bounds; give --missing "public", or say --different-records'
    >>> spoken("SmoothLaplace cannot give PureDP(epsilon=1.0); give an ApproxDP, or use SmoothCauchy for PureDP")
    'smooth_laplace cannot give pure:1.0; give an approx, or use smooth_cauchy for pure'
    """
    text = _SWITCH.sub(lambda found: _SWITCHES[found[0]], text)
    text = _ARGUMENT.sub(lambda found: found[0] if _in_call(text, found.start()) else f"--{found[1]} ", text)
    text = _FIRST.sub(lambda found: f"--{found[1].replace('_', '-')} ", text)
    for phrase, words in _PHRASES.items():
        text = re.sub(phrase, words, text)
    return _CLASS.sub(lambda found: _WORDS[found[0]], text)
