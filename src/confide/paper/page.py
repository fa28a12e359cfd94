"""One self-contained page: each claim in words, our figure, our numbers beside the paper's, and a verdict."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from typing import Any

from confide.paper.result import CORRECTED, FAILED, REPRODUCED, Result

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1.2rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; } .wide { overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #888; } td.mark { white-space: nowrap; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; } figcaption { font-size: .88rem; color: #444; }
.verdict { display: inline-block; font-size: .85rem; font-weight: 600; padding: .1rem .55rem;
  border-radius: .3rem; border: 2px solid; }
.yes { color: #00543a; border-color: #00543a; } .with { color: #7a3f00; border-color: #7a3f00; border-style: dashed; }
.no { color: #fff; background: #7a0019; border-color: #7a0019; }
code { background: #f2f2f2; padding: 0 .25rem; } .setting { color: #444; font-size: .92rem; }
"""
#: how a verdict is shown: its class and its sign
_MARKS = {REPRODUCED: ("yes", "✓"), CORRECTED: ("with", "✓*"), FAILED: ("no", "✗")}


def page(results: Sequence[Result], *, full: bool) -> str:
    """The whole page as HTML with nothing to load."""
    sizes = (
        "the paper's own sizes (--full)" if full else "default sizes, smaller than the paper's where a section says so"
    )
    rows = "".join(
        f'<tr><td><a href="#{each.name}">{_text(each.title)}</a></td><td class="mark">{_badge(each)}</td>'
        f"<td>{_text(each.why)}</td></tr>"
        for each in results
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper, reproduced and corrected</title><style>{_STYLE}</style></head><body><h1>The paper, "
        "reproduced and corrected</h1><p><em>Statistic Selection and MCMC for Differentially Private Bayesian "
        "Estimation</em> (Alparslan and Yıldırım) asks which statistic of a sensitive data set should be published "
        "with noise, so that others learn the most about the population. Its answer: the one whose noisy value has "
        "the largest <strong>Fisher information</strong> F(θ), the reciprocal of the smallest variance that an "
        "estimate of θ can have. It then checks that estimates computed by Markov chains err least where F is largest "
        "(MSE: mean squared error of the posterior mean). ε is the privacy parameter: small is private.</p><p>Every "
        f"experiment is done again here with Confide, at {sizes}. A verdict is computed from the checks under each "
        "heading: <em>reproduced</em> if all hold, <em>with a correction</em> if they hold but a mistake in the paper "
        "or its code changed a number by more than its error, <em>not reproduced</em> if a check fails.</p>"
        '<div class="wide"><table><thead><tr><th>experiment</th><th>verdict</th><th>why</th></tr></thead>'
        f"{rows}</table></div>" + "".join(map(_section, results)) + "</body></html>"
    )


def _section(result: Result) -> str:
    figures = "".join(_figure(result, name, figure) for name, figure in result.figures.items())
    parts = [
        f'<h2 id="{result.name}">{_text(result.title)} {_badge(result)}</h2>',
        f"<p>{_text(result.claim)}</p><p class='setting'>{_text(result.setting)}</p>",
        figures,
        "<h3>Claims and numbers</h3>",
        _rows(
            ("", "what", "the paper", "here"),
            [("✓" if c.holds else "✗", c.claim, c.paper, c.ours) for c in result.checks],
        ),
    ]
    if result.effects:
        body = [(f"{e.erratum}", e.what, e.mistaken, e.corrected, "yes" if e.matters else "no") for e in result.effects]
        header = ("erratum", "what went wrong", "with the mistake", "without", "matters")
        parts += ["<h3>What mistakes did</h3>", _rows(header, body)]
    files = ", ".join(f"<code>{result.name}/{name}.csv</code>" for name in result.tables)
    parts += [
        f"<h3>Beyond the paper</h3><p>{_text(result.beyond)}</p>",
        f"<p class='setting'>Again, alone: <code>confide reproduce {result.name}</code>. Numbers: {files}.</p>",
    ]
    return "".join(parts)


def _figure(result: Result, name: str, figure: Any) -> str:
    """The figure as SVG within the page; its text is drawn as paths, so no font is needed."""
    stream = io.BytesIO()
    figure.savefig(stream, format="svg")
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    caption = result.captions.get(name, "")
    alt = html.escape(f"{result.title}. {caption}", quote=True)
    return (
        f'<figure><img alt="{alt}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{_text(caption)}</figcaption></figure>"
    )


def _rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _badge(result: Result) -> str:
    kind, mark = _MARKS[result.verdict]
    return f'<span class="verdict {kind}">{mark} {result.verdict}</span>'


def _text(text: str) -> str:
    """Escaped, with `code` between backquotes."""
    pieces = html.escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if index % 2 else piece for index, piece in enumerate(pieces))
