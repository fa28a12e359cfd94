"""Results as Markdown, and where they stand in README.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.ratios import RATIOS

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def refreshed(page: str, tables: str) -> str:
    """A page with the tables between its two marks replaced."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{tables}{END}{rest.split(END)[1]}"


def markdown(result: Mapping[str, Any]) -> str:
    """Where it ran, the promised ratios, cold starts, and every row."""
    where = ", ".join(
        f"{name} {value:.1f}" if isinstance(value, float) else f"{name} {value}"
        for name, value in result["machine"].items()
    )
    parts = [f"Measured with {where}; {result['seconds'] / 60:.0f} minutes in all.\n"]
    parts += ["| ratio (larger is better) | measured | wanted |", "|---|---|---|"]
    for name, value in result["ratios"].items():
        wanted = RATIOS[name][1]
        parts.append(f"| {name} | {number(value)} | {'' if wanted is None else number(wanted)} |")
    if result["starts"]:
        parts += ["", "| process start to a saved or printed posterior, task a, n = 10² | s | range |", "|---|---|---|"]
        parts += [
            f"| {each['start']} | {each.get('failed') or number(each['seconds'])} | {_range(each)} |"
            for each in result["starts"]
        ]
    columns = "| task | n | contender | cold s | warm s | range | effective/s | s to 1% | mean, sd off by | IAC |"
    parts += ["", columns, "|---" * 10 + "|", *(_row(row) for row in result["rows"])]
    return "\n".join(parts) + "\n"


def _row(row: Mapping[str, Any]) -> str:
    head = f"| {row['task']} {row['problem']} | {_power(row['n'])} | {row['contender']} |"
    if "failed" in row:
        return f"{head} {row['failed']} | | | | | | |"
    at_most = "≤ " if row.get("at_most") else ""
    off = f"{row['off_mean']:.1%}, {row['off_sd']:.1%}" if "off_mean" in row else ""
    reached = "" if "rate" not in row else "–" if row["to_1pct"] is None else number(row["to_1pct"])
    rate = at_most + number(row["rate"]) if "rate" in row else ""
    iac = f"{row['iac']:.1f}" if "iac" in row else ""
    few = "" if row["repeats"] >= 5 else f" ({row['repeats']} run{'s' if row['repeats'] > 1 else ''})"
    times = f" {number(row['cold'])} | {number(row['warm'])} | {_range(row)}{few} |"
    return f"{head}{times} {rate} | {reached} | {off} | {iac} |"


def _range(row: Mapping[str, Any]) -> str:
    return f"{number(row['low'])}–{number(row['high'])}" if "low" in row else ""


def _power(n: int) -> str:
    return "10" + str(len(str(n)) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def number(value: float) -> str:
    """Three digits, thousands set apart."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
