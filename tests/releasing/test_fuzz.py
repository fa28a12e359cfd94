"""Fuzzing: whatever the loader and the parser are fed, they answer with a release, an expression or our own error."""

import json
import random
import sys
import time

import pytest

import confide as cf
from confide.expression.parse import parse as parse_expression
from confide.published import FileError
from confide.published.file import parse
from tests.releasing.test_file import CHANNELS, valid

SNIPPETS = [
    "x", "abs(", ")", "**", "[", "]", "1e999", "NaN", "-Infinity", "null", "true", "\\u0000", "💥",
    "__import__('os')", "lambda x: x", "x if x else x", "interp(x,[0,1],[0,1])", "{", "}", ":", ",", "\"", "'",
    "1" * 400, "0x1p3", "-" * 60, "(" * 50, "min(x,1,2,3)", "\n", "\t", "x.__class__", "f'{x}'", "x@x", "x//2",
    "~x", "1_000", "1j", "...", "x:=1", "\ud800", "confide-release", "\"version\": 2", "1/3", "0", "-1", "\x00",
    "eval('1')", "open('x')", "# x", "x;x",
]  # fmt: skip


def mutate(chance, text):
    """A few random edits."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(text))
        match chance.randrange(5):
            case 0:
                text = text[:at] + chance.choice(SNIPPETS) + text[at:]
            case 1:
                text = text[:at] + text[at + chance.randint(1, 8) :]
            case 2:
                text = text[:at] + chr(chance.randrange(0x250)) + text[at + 1 :]
            case 3:
                other = chance.randint(0, len(text))
                text = text[:at] + text[other : other + chance.randint(1, 20)] + text[at:]
            case 4:
                text = text[:at] + chance.choice("0123456789eE.+-") + text[at + 1 :]
    return text


def forms():
    from confide.published.codec import encode
    from confide.published.release import Release

    values = [0.5, [0.1, 0.2], 0.4, 0.5, 0.5, 0.5, 0.5, 0.5]
    return [json.dumps(valid()), *(json.dumps(encode(Release(c, v))) for c, v in zip(CHANNELS, values, strict=False))]


def fuzz(count, seed):
    """Feed mutated texts; return how many were accepted."""
    executed = []
    # nothing that a text could run may run: the interpreter's own audit would tell
    watching = [True]

    def audit(event, arguments):
        if watching[0] and (
            event in ("exec", "os.system", "subprocess.Popen", "import") and "confide" not in repr(arguments)[:300]
        ):
            executed.append((event, repr(arguments)[:100]))

    chance = random.Random(seed)
    expressions = [str(t) for c in CHANNELS for t in c.statistic.transforms]
    expressions += [
        "clip(x, 0, 1)*exp(-x)",
        "where(x > 1, x, 2)",
        "interp(x, [0, 1, 2], [3, 4, 5])",
        "x**-2 + log1p(abs(x))",
    ]
    files = forms()
    for form in files:
        parse(form)
    sys.addaudithook(audit)
    accepted = 0
    for index in range(count):
        try:
            if index % 10:
                parse_expression(mutate(chance, chance.choice(expressions)))
            else:
                parse(mutate(chance, chance.choice(files)))
            accepted += 1
        except (FileError, cf.ExpressionError):
            pass
    watching[0] = False
    assert not executed
    return accepted


def test_mutated_files_and_expressions():
    assert 0 < fuzz(6_000, seed=1) < 6_000


@pytest.mark.slow
def test_a_million_mutated_files_and_expressions(capsys):
    started = time.perf_counter()
    accepted = fuzz(1_000_000, seed=2)
    with capsys.disabled():
        print(f"\n1,000,000 texts, {accepted:,} accepted, {time.perf_counter() - started:.0f} s")
