"""Numbers as people read them: as far as they are known, and without an exponent where none is needed."""

from __future__ import annotations

import math

#: numbers that are written out
_LONGEST = 1e9


def around(size: float, digits: int = 2) -> str:
    """The size of an uncertainty.

    >>> around(0.02303), around(492.9), around(1163.0, digits=3), around(2.5e-7)
    ('0.023', '490', '1160', '2.5e-07')
    """
    text = f"{size:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(size) < _LONGEST else text


def as_known(value: float, spread: float) -> str:
    """A number to four digits, or to a tenth of the leading digit of its uncertainty if these are more.

    >>> as_known(2.13712, 0.5945), as_known(12345.6, 116.0), as_known(8.000213, 0.000312)
    ('2.137', '12346', '8.00021')
    """
    known = math.isfinite(value) and value != 0 and math.isfinite(spread) and spread > 0
    if not known or abs(value) >= _LONGEST:
        return f"{value:.4g}"
    wanted = 1 - math.floor(math.log10(spread))
    if abs(value) < 1e4 and wanted <= 3 - math.floor(math.log10(abs(value))):
        return f"{value:.4g}"
    return f"{value:.{max(0, wanted)}f}" if wanted <= 12 else f"{value:.4g}"


def within(value: float, spread: float) -> str:
    """A number to a tenth of the leading digit of its uncertainty.

    >>> within(2.80491, 0.1066), within(0.0976, 0.0066), within(7232.7, 116.0)
    ('2.80', '0.0976', '7233')
    """
    if not (math.isfinite(value) and math.isfinite(spread) and spread > 0):
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(spread)))
    return f"{value:.{digits}f}" if abs(value) < 1e9 and digits <= 12 else f"{value:.4g}"
