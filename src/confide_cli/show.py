"""What is printed: JSON and nothing else, or text and tables for people."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any


def plain(value: Any) -> Any:
    """A value as JSON can hold it: lists, numbers, texts; None for what is not a number."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers, without loading NumPy where there are none
        return plain(value.tolist())
    return value


def emit(as_json: bool, result: dict[str, Any], show: Callable[[], None]) -> None:
    """Print the result, or show it."""
    if as_json:
        print(json.dumps(plain(result), indent=2, allow_nan=False, ensure_ascii=False))
    else:
        show()


def say(text: str = "") -> None:
    """A line for people, on standard output."""
    print(text)


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str], title: str | None = None) -> None:
    """A table of some columns."""
    from rich.console import Console
    from rich.table import Table

    drawn = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        drawn.add_column(name, justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        drawn.add_row(*(_text(row.get(name)) for name in columns))
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 160, highlight=False, markup=False).print(drawn)


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
