"""Random expressions of the language, for property tests."""

from hypothesis import strategies as st

from confide.expression.tree import Call, Interp, Number, Variable

numbers = st.one_of(
    st.integers(-5, 5).map(float),
    st.floats(-100, 100, allow_nan=False).map(lambda value: value + 0.0),
)
atoms = st.one_of(st.just(Variable()), st.just(Variable()), numbers.map(Number))


def _negative(tree):
    return Number(-tree.value) if isinstance(tree, Number) else Call("negative", (tree,))


def _positive(tree):
    """A guard that makes roots, logarithms and divisions defined."""
    return Call("add", (Call("absolute", (tree,)), Number(0.5)))


def _grow(children):
    pair = st.tuples(children, children)
    return st.one_of(
        st.tuples(st.sampled_from(["add", "subtract", "multiply", "minimum", "maximum"]), pair).map(
            lambda a: Call(a[0], a[1])
        ),
        st.tuples(st.sampled_from(["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]), pair).map(
            lambda a: Call(a[0], a[1])
        ),
        pair.map(lambda p: Call("divide", (p[0], _positive(p[1])))),
        st.tuples(children, st.integers(0, 4)).map(lambda a: Call("power", (a[0], Number(float(a[1]))))),
        st.tuples(children, st.floats(0.1, 2.5)).map(lambda a: Call("power", (_positive(a[0]), Number(a[1])))),
        children.map(lambda a: Call("absolute", (a,))),
        children.map(_negative),
        children.map(lambda a: Call("sign", (a,))),
        children.map(lambda a: Call("log", (_positive(a),))),
        children.map(lambda a: Call("log1p", (Call("absolute", (a,)),))),
        children.map(lambda a: Call("sqrt", (Call("absolute", (a,)),))),
        children.map(lambda a: Call("exp", (Call("clip", (a, Number(-3.0), Number(3.0))),))),
        st.tuples(children, numbers, numbers).map(
            lambda a: Call("clip", (a[0], Number(min(a[1:])), Number(max(a[1:]))))
        ),
        st.tuples(children, children, children).map(lambda a: Call("where", a)),
        st.tuples(children, st.lists(numbers, min_size=2, max_size=5, unique=True), st.data()).map(_table),
    )


def _table(arguments):
    argument, knots, _ = arguments
    knots = tuple(sorted(knots))
    return Interp(argument, knots, tuple((-1.0) ** i * (i + 1) for i in range(len(knots))))


trees = st.recursive(atoms, _grow, max_leaves=8)
intervals = st.tuples(st.floats(-10, 10).map(lambda v: v + 0.0), st.floats(0.01, 20).map(lambda v: v + 0.0)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)
