"""Names of data sets: two that look alike are one, for each name has a budget of its own."""

from __future__ import annotations

import unicodedata

from confide.errors import InvalidArgument

#: letters of other scripts that are drawn as Latin ones (the lower-case letters of Unicode's table of confusables)
_DRAWN_ALIKE = str.maketrans(
    "аеорсухѕіјһӏԁԛԝѵɡвнмткαοινρυχκτβεηγμı",
    "aeopcyxsijhldqwvgbhmtkaoivpuxktbenyui",
)


def check_visible(argument: str, name: str) -> str:
    """The name, if all of it can be seen: no control, zero-width or bidirectional characters."""
    for character in name:
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") or _blank(character):
            raise InvalidArgument(
                argument,
                ascii(name),
                f"holds the invisible character U+{ord(character):04X}",
                "use letters, digits, punctuation and plain blanks",
            )
    return name


def _blank(character: str) -> bool:
    """Characters that are drawn as nothing though they are letters or marks."""
    drawn_empty = "\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800\u034f"
    return character in drawn_empty or "VARIATION SELECTOR" in unicodedata.name(character, "")


def canonical(name: str) -> str:
    """What decides whether two names are one: case, width, blanks, accents' spelling and look-alike letters do not.

    >>> canonical("People ") == canonical("people"), canonical("pеople") == canonical("people")  # a Cyrillic е
    (True, True)
    >>> canonical("people-2025") == canonical("people-2026")
    False
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    skeleton = " ".join(folded.split()).translate(_DRAWN_ALIKE)
    # dashes of all kinds are one
    skeleton = "".join("-" if unicodedata.category(c) == "Pd" or c == "\u2212" else c for c in skeleton)
    return skeleton[:1000]
