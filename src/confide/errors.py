"""The exceptions of Confide.

Everything that Confide raises on purpose descends from one root, so that a caller can catch it by one name::

    ConfideError
    ├── InvalidArgument (also ValueError)      an argument is wrong; says which, its value, and what to do
    │   ├── ExpressionError                    text that is not in the expression language, or is unsafe
    │   ├── RangeError                         an expression that is undefined or unbounded on its bounds
    │   ├── ParameterError                     θ outside its space, or of the wrong shape
    │   └── PrivacyError                       a guarantee that does not exist, or cannot be converted
    ├── IncompatibleError (also TypeError)     two parts that do not fit, such as a mechanism and a statistic
    └── AccuracyError                          a computation that cannot reach the accuracy it promises

and what it warns of::

    ConfideWarning (a UserWarning)
    ├── ApproximationWarning                   nothing exact serves, and an approximation of unknown error was taken
    ├── ImputationWarning                      a number stood in for missing values, and the model takes it for records
    └── NoiseWarning                           the noise is as wide as the range: the published number will say nothing;
                                               or a published number is one that no such noise explains

An `InvalidArgument` is built from its four parts, so that no message can forget one of them. No error tells the
password or token of a URL, neither in its message nor in its value.
"""

from __future__ import annotations

from confide._redaction import redacted

#: characters of a value that a message shows: about a line
_LONGEST_VALUE = 120


def _shorten(value: object) -> str:
    """`repr` of a value, cut to a length that fits in a message."""
    text = repr(value)
    if len(text) <= _LONGEST_VALUE:
        return text
    return f"{text[: _LONGEST_VALUE - 20]}… ({len(text)} characters)"


class ConfideError(Exception):
    """The root of all errors that Confide raises on purpose.

    >>> import confide as cf
    >>> try:
    ...     cf.PureDP(-1.0)
    ... except cf.ConfideError as error:
    ...     print(type(error).__name__)
    PrivacyError
    """

    def __init__(self, *parts: object) -> None:
        super().__init__(*(redacted(part) if isinstance(part, str) else part for part in parts))


class InvalidArgument(ConfideError, ValueError):
    """An argument has a value that cannot be used.

    >>> raise InvalidArgument("n", 0, "must be at least 1", "give the number of records")
    Traceback (most recent call last):
    ...
    confide.errors.InvalidArgument: n = 0 must be at least 1; give the number of records
    """

    def __init__(self, argument: str, value: object, problem: str, remedy: str) -> None:
        self.argument = argument
        self.value = value = redacted(value) if isinstance(value, str) else value
        self.problem = problem
        self.remedy = remedy
        unsaid = value is None and problem.startswith("is not said")
        super().__init__(f"{argument}{'' if unsaid else f' = {_shorten(value)}'} {problem}; {remedy}")

    def __reduce__(self) -> tuple[type[InvalidArgument], tuple[str, object, str, str]]:
        return type(self), (self.argument, self.value, self.problem, self.remedy)


class ExpressionError(InvalidArgument):
    """A text is not in the expression language (or is unsafe to read).

    >>> import confide as cf
    >>> cf.Expression("sin(x)")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    confide.errors.ExpressionError: ...
    """


class RangeError(InvalidArgument):
    """An expression is undefined or unbounded somewhere on its bounds.

    >>> import confide as cf
    >>> cf.Mean("log(x)", bounds=(-1, 1))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    confide.errors.RangeError: ...
    """


class ParameterError(InvalidArgument):
    """θ lies outside the population's parameter space, or has the wrong shape.

    >>> import confide as cf
    >>> cf.populations.normal_variance().theta(-1.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    confide.errors.ParameterError: ...
    """


class PrivacyError(InvalidArgument):
    """A guarantee is impossible, or cannot be had from the given one.

    >>> import confide as cf
    >>> cf.PureDP(-1.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    confide.errors.PrivacyError: ...
    """


class IncompatibleError(ConfideError, TypeError):
    """Two parts do not fit together.

    >>> import confide as cf
    >>> cf.Exponential(cf.PureDP(1.0)).calibrate(cf.Mean("x", bounds=(0, 1)), 10)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    confide.errors.IncompatibleError: ...
    """


class AccuracyError(ConfideError, ArithmeticError):
    """A computation cannot reach the accuracy that it promises.

    >>> issubclass(AccuracyError, ArithmeticError)
    True
    """


class ConfideWarning(UserWarning):
    """The root of all warnings of Confide; `warnings.simplefilter("error", cf.ConfideWarning)` makes errors of them.

    >>> issubclass(ConfideWarning, UserWarning)
    True
    """


class ImputationWarning(ConfideWarning):
    """A release replaced missing values by a public number, and inference takes them for records of the population.

    >>> issubclass(ImputationWarning, ConfideWarning)
    True
    """


class NoiseWarning(ConfideWarning):
    """The noise is wider than all that the statistic can be, so that the published number will say almost nothing.

    Or a published number lies further out than such noise takes it: often it is in other units.

    >>> issubclass(NoiseWarning, ConfideWarning)
    True
    """


class ApproximationWarning(ConfideWarning):
    """Nothing exact serves what was asked, and an approximation of unknown error was taken instead.

    Ask for the approximation by its name (route="normal") and there is no warning; make it an error with
    `warnings.simplefilter("error", cf.ApproximationWarning)`.

    >>> issubclass(ApproximationWarning, UserWarning)
    True
    """
