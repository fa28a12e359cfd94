"""Fuzzing: whatever the loader and the parser are fed, they answer with a release, an expression or our own error.

Random edits of a file's text hardly ever leave it JSON, so most of the files are edited as objects: values of other kinds and
sizes, fields left out, added or exchanged, expressions edited in place. How deep the inputs get is counted, and asserted.
"""

import collections
import copy
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


HOSTILE = [
    None, True, False, 0, 1, -1, 2**53, 2**53 + 1, 2**63, -(2**63), 10**400, 0.0, -0.0, 1.0, 0.5, 1e308, -1e308, 5e-324, 1e-300, "", "x",
    "1/3", "0/1", "1/0", "-1/2", "9" * 399, "PureDP", "ApproxDP", "Mean", "Each", "Median", "Laplace", "Gaussian", "Unlimited", "public",
    "../../etc/passwd", "a/b", "\x00", "replace-one", "confide-release", [], [0], [0, 1], [1, 0], [1e308, -1e308], ["x"], ["x", "x**2"], {},
    {"kind": "PureDP", "epsilon": 1.0}, {"kind": "GDP", "mu": 1e-300}, {"kind": "Unlimited"}, {"kind": "named", "name": "a"},
    {"kind": "rows", "start": 5, "stop": 1}, {"kind": "grouped", "column": "x", "value": "f"}, {"age": "AGE"}, {"age": [0, 1]}, {"age": ["a"]},
    {"exp": [0.0, 1.0]}, "one row", "add-remove", [[[[0]]]], "x if x else x", "__import__('os')", "interp(x,[1,0],[0,1])", "1/x", "log(x)", "exp(exp(x))",
]  # fmt: skip


def places(form, path=()):
    """Every place in a JSON object."""
    for key in form if isinstance(form, dict) else range(len(form)):
        yield (*path, key)
        if isinstance(form[key], dict | list):
            yield from places(form[key], (*path, key))


def edited(chance, form, other):
    """An object with a few places changed; still JSON."""
    form = copy.deepcopy(form)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        every = list(places(form))
        if not every:
            return form
        *path, key = chance.choice(every)
        parent = form
        for step in path:
            parent = parent[step]
        value = parent[key]
        match chance.randrange(6):
            case 0:
                del parent[key]
            case 1 if isinstance(parent, dict):
                parent[
                    chance.choice(
                        [
                            "extra",
                            "q",
                            "scale",
                            "step",
                            "cap",
                            "value",
                            "records",
                            "integers",
                            "part",
                            "categories",
                            "age",
                            "protects",
                        ]
                    )
                ] = copy.deepcopy(chance.choice(HOSTILE))
            case 2 if isinstance(value, str):
                parent[key] = mutate(chance, value)
            case 3 if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
                parent[key] = value * chance.choice([-1, 0.5, 2, 1e-9, 1e9, 1e200]) + chance.choice([0, 0, 1])
            case 4 if isinstance(parent, dict) and key in other:
                parent[key] = copy.deepcopy(other[key])
            case _:
                parent[key] = copy.deepcopy(chance.choice(HOSTILE))
    return form


def forms():
    from confide.published.codec import encode
    from confide.published.release import Release

    values = [0.5, [0.1, 0.2], 0.4, 0.5, 0.5, 0.5, 0.5, 0.5]
    found = [Release(channel, value) for channel, value in zip(CHANNELS, values, strict=False)]
    rows = cf.Mean(
        ["age * log(cost)", "ward == 1"], bounds={"age": (18, 90), "cost": (10, 500)}, categories={"ward": ["a", "b"]}
    )
    told = {"column": {"age": "AGE", "ward": "Ward"}, "missing": {"cost": 20.0}, "part": cf.Grouped("sex", "f")}
    found += [Release(cf.Channel(rows, cf.Gaussian(cf.ZCDP(0.1)), 5), [0.1, 0.2], dataset="people", **told)]
    found += [Release(cf.Channel(cf.Sum("age", bounds={"age": (0, 9)}), cf.Laplace(cf.PureDP(1.0))), 0.5)]
    return [json.dumps(valid()), *(json.dumps(encode(release)) for release in found)]


def fuzz(count, seed):
    """Feed edited files and expressions; count how far each kind got."""
    executed = []
    # nothing that a text could run may run: the interpreter's own audit would tell
    watching = [True]

    def audit(event, arguments):
        if watching[0] and (
            event in ("exec", "os.system", "subprocess.Popen", "import") and "confide" not in repr(arguments)[:300]
        ):
            executed.append((event, repr(arguments)[:100]))

    chance = random.Random(seed)
    expressions = [str(t) for c in CHANNELS for t in c.statistic.transforms if len(str(t)) > 3]
    expressions += [
        "clip(x, 0, 1)*exp(-x)",
        "where(x > 1, x, 2)",
        "interp(x, [0, 1, 2], [3, 4, 5])",
        "x**-2 + log1p(abs(x))",
        "max(min(x, 3), sqrt(abs(x)))/2 - sign(x)",
        "(x >= 1)*(x != 2) + 1e-3*x**3",
    ]
    files = forms()
    objects = [json.loads(form) for form in files]
    for form in files:
        parse(form)
    sys.addaudithook(audit)
    reached = collections.Counter()
    for index in range(count):
        kind = "text" if index % 20 == 0 else "object" if index % 4 == 1 else "expression"
        try:
            if kind == "expression":
                parse_expression(mutate(chance, chance.choice(expressions)))
            elif kind == "object":
                parse(json.dumps(edited(chance, chance.choice(objects), chance.choice(objects))))
            else:
                parse(mutate(chance, chance.choice(files)))
            reached[kind, "accepted"] += 1
        except FileError as error:
            # a form that is as the schema has it goes on to the constructors
            deep = "is not as a release file has it" not in str(error) and "not JSON" not in str(error)
            reached[kind, "constructors" if deep else "schema"] += 1
        except cf.ExpressionError:
            reached[kind, "refused"] += 1
    watching[0] = False
    assert not executed
    assert sum(reached.values()) == count
    # the inputs are worth something: objects reach the schema, the constructors behind it, and some come through
    assert reached["expression", "accepted"] > count // 100
    assert all(reached["object", stage] > count // 1000 for stage in ("schema", "constructors", "accepted"))
    return reached


def test_mutated_files_and_expressions():
    fuzz(4_000, seed=1)


@pytest.mark.slow
def test_a_million_mutated_files_and_expressions(capsys):
    started = time.perf_counter()
    reached = fuzz(1_000_000, seed=2)
    with capsys.disabled():
        print(f"\n1,000,000 inputs in {time.perf_counter() - started:.0f} s:")
        for (kind, stage), number in sorted(reached.items()):
            print(f"  {kind:10s} {stage:12s} {number:9,d}")
