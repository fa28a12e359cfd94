"""Secrets in URLs, replaced by `***` wherever a text is shown or stored.

What is not known to be harmless is taken for a secret: every password, whatever characters it holds, the user of a web
address (a token, as a rule), and every parameter of a query that is not on a short list.
"""

from __future__ import annotations

import re
from collections.abc import Callable

#: parameters that are no secret, in the words of PostgreSQL, DuckDB and Spark
_HARMLESS = frozenset((
    "application_name", "catalog", "connect_timeout", "database", "dbname", "host", "hostaddr", "port", "read_only",
    "schema", "sslmode", "table", "target_session_attrs", "user",
))  # fmt: skip
_HIDDEN = "***"
# A URL inside of other text ends at a blank or a quotation mark.
_INSIDE = r"[^\s'\"`<>]"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"
_WHOLE = re.compile(rf"(--?[\w-]+=)?{_SCHEME}")
# up to the last @: a password may hold unencoded @, / and ? as well
_USER = re.compile(rf"({_SCHEME})([^:/@?#\s'\"]*)(:{_INSIDE}*)?@")
_PARAMETER = re.compile(r"([?&;])([^=&;?#\s'\"]+)=([^&#\s'\"`<>]*)")
# a connection string that is no URL: host=h password=p
_PAIR = re.compile(r"(?i)\b(\w*(?:passw|pwd|token|secret)\w*\s*=\s*)('[^']*'|\"[^\"]*\"|[^\s&'\"]+)")
_FRAGMENT = re.compile(rf"({_SCHEME}[^#\s'\"]*#){_INSIDE}+")


def redacted(original: str) -> str:
    """The text with the secrets of the URLs in it replaced by `***`.

    >>> redacted("postgresql://ann:p@ss/word@host/db?sslmode=require&password=p")
    'postgresql://ann:***@host/db?sslmode=require&password=***'
    >>> redacted("no file 'https://host/x.csv?sig=abc'; give a path")
    "no file 'https://host/x.csv?sig=***'; give a path"
    """
    given = text = original
    if _WHOLE.match(text):  # then a blank or a quotation mark is a part of it
        given = text = re.sub(r"[\s'\"`<>]", lambda found: f"%{ord(found[0]):02X}", text)
    for pattern, hide in _RULES if "://" in text else _RULES[-1:]:
        text = pattern.sub(hide, text)
    return text if text != given else original


def _hide_user(found: re.Match[str]) -> str:
    scheme, user, password = found.groups()
    if password is not None:
        return f"{scheme}{user}:{_HIDDEN}@"
    return f"{scheme}{_HIDDEN if scheme.lower().startswith('http') else user}@"


def _hide_parameter(found: re.Match[str]) -> str:
    mark, name, value = found.groups()
    # some drivers read a semicolon, or an encoded one, as the start of another parameter
    harmless = name.lower() in _HARMLESS and re.fullmatch(r"[\w.,:/-]*", value)
    return f"{mark}{name}={value if harmless else _HIDDEN}"


def _hide_rest(found: re.Match[str]) -> str:
    return f"{found[1]}{_HIDDEN}"


_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (_USER, _hide_user),
    (_PARAMETER, _hide_parameter),
    (_FRAGMENT, _hide_rest),
    (_PAIR, _hide_rest),
)
