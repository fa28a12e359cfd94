"""Parsing, canonical text and the refusal of everything else."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import ConfideError, ExpressionError
from confide.expression import Expression
from confide.expression.parse import parse
from confide.expression.text import format_tree
from tests.expression.strategies import trees


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("abs( x )", "abs(x)"),
        ("x**2.0", "x**2"),
        ("((x))+(1)", "x + 1"),
        ("-x**2", "-x**2"),
        ("(-x)**2", "(-x)**2"),
        ("(-2)**x", "(-2)**x"),
        ("2**-x", "2**-x"),
        ("x**2**3", "x**2**3"),
        ("(x**2)**3", "(x**2)**3"),
        ("x-(1-x)", "x - (1 - x)"),
        ("x-1-x", "x - 1 - x"),
        ("x/(2*x+3)", "x / (2 * x + 3)"),
        ("-(2*x)", "-(2 * x)"),
        ("(x>2)*(x<5)", "(x > 2) * (x < 5)"),
        ("(x>2)==(x<5)", "(x > 2) == (x < 5)"),
        ("min(x,1,2)", "min(min(x, 1), 2)"),
        ("where(x>=0,x,-x)", "where(x >= 0, x, -x)"),
        ("interp(x,[0,1,2.5],[1,-1e-6,3])", "interp(x, [0, 1, 2.5], [1, -1e-06, 3])"),
        ("clip(x, -3, 3)", "clip(x, -3, 3)"),
        ("+x", "x"),
        ("  x ", "x"),
        ("1e300*x", "1e+300 * x"),
    ],
)
def test_canonical_text_reads_back_as_the_same_tree(text, canonical):
    expression = Expression(text)
    assert str(expression) == canonical
    assert Expression(canonical) == expression
    assert hash(Expression(canonical)) == hash(expression)


@settings(max_examples=1500, deadline=None)
@given(trees)
def test_text_round_trips(tree):
    assert parse(format_tree(tree)) == tree


HOSTILE = [
    "__import__('os')", "x.__class__", "lambda: x", "(lambda x: x)(x)", "[x for x in [1]]", "x if x else 1", "x[0]",
    "f'{x}'", "'x'", "b'x'", "x := 2", "await x", "yield x", "*x", "x; x", "import os", "x = 1", "y", "eval(x)", "exec",
    "abs", "abs(x=1)", "abs(*x)", "abs()", "abs(x, x)", "clip(x)", "where(x)", "min()", "1j", "True", "None", "...",
    "1e999", "9" * 400, "x ^ 2", "x // 2", "x % 2", "x @ x", "x & 1", "not x", "~x", "1 < x < 2", "x and x", "x is x",
    "x in x", "", " ", "\0", "x\0", "(", "x +", "interp(x, 1, 2)", "interp(x, [0], [1])", "interp(x, [1, 0], [1, 2])",
    "interp(x, [0, 1], [1])", "interp(x, [0, x], [1, 2])", "{x}", "{x: x}", "print(x)", "x" * 1_000_000,
    "(" * 10_000 + "x" + ")" * 10_000, "-" * 10_000 + "x", "+".join(["x"] * 10_000), "abs(" * 500 + "x" + ")" * 500,
    "min(" + "x," * 5_000 + "x)", "max(" + "x," * 101 + "x)", "1 if True else 2", "\N{GREEK SMALL LETTER THETA}", "x**", "math.exp(x)", "#", "x\nx",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:20].encode("unicode_escape").decode())
def test_hostile_or_broken_text_is_refused_in_words(text):
    with pytest.raises(ExpressionError) as error:
        Expression(text)
    assert error.value.argument == "expression"
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("value", [None, 3, 2.5, ["x"], b"x", object()])
def test_what_is_not_text_is_refused(value):
    with pytest.raises(ExpressionError):
        Expression(value)


@settings(max_examples=3000, deadline=None)
@given(st.text(alphabet="x0123456789.+-*/()<>=, abscliplogexpwhrn[]_'\"^%", max_size=40))
def test_random_text_parses_or_raises_our_error(text):
    try:
        expression = Expression(text)
    except ConfideError:
        return
    assert Expression(str(expression)) == expression


def test_expressions_pickle_and_compare_by_meaning():
    expression = Expression("abs(x)**2")
    assert pickle.loads(pickle.dumps(expression)) == expression
    assert expression != Expression("abs(x)**3")
    assert Expression("x > 2") != Expression("2 < x")
