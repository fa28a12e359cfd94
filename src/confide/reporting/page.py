"""A report as one HTML page that needs nothing else: no script, no font, no picture from anywhere."""

from __future__ import annotations

import base64
import math
import re
from html import escape
from typing import Any

from confide.plots.style import svg
from confide.reporting.content import PageContent, Picture
from confide.reporting.promise import LIMITS, in_plain_words

_STYLE = """
:root { --ink: #1b2733; --soft: #5b6b7a; --line: #d9e0e6; --blue: #0072B2; --pale: #eef4f8; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: white; font: 16px/1.55 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
header p { color: var(--soft); margin: 0 0 1.5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
.answer { font-size: 1.15rem; background: var(--pale); border-left: 5px solid var(--blue); padding: 1rem 1.2rem;
          margin: 0; }
.warning { border-left: 5px solid #D55E00; background: #fdf1ea; padding: .6rem 1.2rem; margin: .8rem 0; }
figure { margin: 1.6rem 0; text-align: center; overflow-x: auto; }
figure img { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .88rem; text-align: left; }
.wide { overflow-x: auto; background: /* a shadow at an end beyond which there is more */
  linear-gradient(to right, white 1.5rem, transparent) left / 3rem 100% no-repeat local,
  linear-gradient(to left, white 1.5rem, transparent) right / 3rem 100% no-repeat local,
  linear-gradient(to right, #9aa7b3, transparent) left / .7rem 100% no-repeat scroll,
  linear-gradient(to left, #9aa7b3, transparent) right / .7rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .5rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
td { white-space: nowrap; }
.words { text-align: left; white-space: normal; min-width: 5.5rem; }
.ranked td:first-child { min-width: 7rem; }
th { color: var(--soft); font-weight: 600; }
.ranked tbody tr:first-child td { font-weight: 600; }
.legend { color: var(--soft); font-size: .88rem; }
summary { cursor: pointer; margin: 1.6rem 0 .6rem; font-weight: 600; }
pre { background: #f6f8fa; border: 1px solid var(--line); border-radius: 4px; padding: .8rem 1rem; overflow-x: auto;
      font: .85rem/1.45 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft);
         font-size: .85rem; }
@media (max-width: 32rem) {
  main { padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.5rem; }
  th, td { padding: .35rem .3rem; }
  figcaption::after { content: " (Move the picture sideways to see all of it.)"; }
}
@media print { main { max-width: none; padding: 0; } figure, pre, table { break-inside: avoid; } }
"""

#: numbers, several of them, a share, a day, or none
_NUMBER = re.compile(r"[\d.,eE+%±–\[\] -]+|inf|nan")
#: the least size of a picture, as a share of that at which its letters are those of the text
_LEGIBLE = 0.7

#: how the method is cited
PAPER = (
    "Barış Alparslan and Sinan Yıldırım, Statistic Selection and MCMC for Differentially Private Bayesian Estimation."
)


def page(content: PageContent, *, version: str, command: str | None, script: str | None, why_none: str = "") -> str:
    """The whole page."""
    parts = [
        f"<header><h1>{escape(content.title)}</h1><p>{escape(content.question)}</p></header>",
        f'<p class="answer">{escape(content.answer)}</p>',
        *(f"<p>{escape(text)}</p>" for text in content.notes),
        *(f'<p class="warning">{escape(_sentence(text))}</p>' for text in content.warnings),
        *map(_figure, content.pictures),
        *(f"<h2>Why</h2><p>{escape(text)}</p>" for text in content.why),
        "<h2>Details</h2>",
        _table(content),
        *_legend(content),
        *_workings(content),
        "<h2>What is published, and what is promised</h2>",
        *(f"<p>{_lines(text)}</p>" for text in content.channels),
        *_promise(content),
        "<h2>Run it again</h2>",
        *_again(command, script, why_none),
        "<h2>Cite it</h2>",
        f"<p>{escape(PAPER)}</p><p>Confide {escape(version)}, the software that made this page.</p>",
        "<footer>This page holds published values and descriptions only: no record, no seed, no scale of noise that "
        "depends on records.</footer>",
    ]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(content.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        "</body>\n</html>\n"
    )


def _sentence(text: str) -> str:
    """A warning, which an error message would continue, as a sentence."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _promise(content: PageContent) -> list[str]:
    if content.guarantee is None:
        return [f"<p>{escape(LIMITS)}</p>"]
    return [f"<p>{escape(in_plain_words(content.guarantee))}</p>", f"<p>{escape(LIMITS)}</p>"]


def _again(command: str | None, script: str | None, why_none: str) -> list[str]:
    parts = []
    if command is not None:
        parts += ["<p>On the command line, in the same folder:</p>", f'<pre id="command">{escape(command)}</pre>']
    if script is not None:
        parts += ["<p>In Python:</p>", f'<pre id="script">{escape(script)}</pre>']
    else:
        parts.append(f"<p>There is no script here: the result depends on {escape(why_none)}.</p>")
    return parts


def _figure(picture: Picture) -> str:
    # as an image, so that the identifiers of two pictures do not meet
    data = base64.b64encode(svg(picture.figure).encode()).decode()
    caption = escape(picture.caption)
    # never so small that its words cannot be read: on a narrow screen a picture is moved under the finger
    least = round(_LEGIBLE * 96 * picture.figure.get_size_inches()[0])
    image = f'<img alt="{caption}" style="min-width: {least}px" src="data:image/svg+xml;base64,{data}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _workings(content: PageContent) -> list[str]:
    if not content.workings:
        return []
    pictures = "\n".join(map(_figure, content.workings))
    return [f"<details><summary>How the chains went</summary>{pictures}</details>"]


def _table(content: PageContent) -> str:
    cells = [[_cell(each) for each in row] for row in content.rows]
    words = [any(not _numeric(row[i]) for row in cells) for i in range(len(content.columns))]
    head = "".join(_tag("th", *each) for each in zip(content.columns, words, strict=True))
    body = "".join(f"<tr>{''.join(_tag('td', *each) for each in zip(row, words, strict=True))}</tr>" for row in cells)
    kind = ' class="ranked"' if content.ranked else ""
    return f'<div class="wide"><table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _tag(name: str, text: str, words: bool) -> str:
    kind = ' class="words"' if words else ""
    return f"<{name}{kind}>{escape(text)}</{name}>"


def _numeric(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _legend(content: PageContent) -> list[str]:
    told = "; ".join(f"<b>{escape(name)}</b>: {escape(meaning)}" for name, meaning in content.legend)
    return [f'<p class="legend">{told}.</p>'] if told else []


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if not math.isnan(value) else "–"
    return str(value)


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")
