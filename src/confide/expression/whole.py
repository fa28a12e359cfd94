"""Reading an expression as whole numbers, where it is proved to have no other values in any engine."""

from __future__ import annotations

from collections.abc import Callable

from confide.expression.tree import COMPARISONS, Tree, read

#: whole numbers up to here, and their sums, differences and products up to here, are exact in double precision
LARGEST = 2**53
Size = int | None


class WholeReader:
    """The largest size of a whole number, or None for what may be something else.

    Comparisons are 0 or 1 and signs −1, 0 or 1, whatever an engine made of their arguments. Sums, differences,
    products, negatives, sizes, minima, maxima and choices of whole numbers are whole, and double precision computes
    them without rounding below 2⁵³. Nothing else is taken for whole.
    """

    @staticmethod
    def variable(name: str) -> Size:
        """Something else."""
        del name
        return None

    @staticmethod
    def number(value: float) -> Size:
        """A constant."""
        return int(abs(value)) if value == int(value) and abs(value) <= LARGEST else None

    @staticmethod
    def interp(argument: Size, knots: tuple[float, ...], values: tuple[float, ...]) -> Size:
        """A table interpolates, with rounding."""
        del argument, knots, values
        return None

    def __getattr__(self, operation: str) -> Callable[..., Size]:
        def combine(*sizes: Size) -> Size:
            if operation in COMPARISONS or operation == "sign":
                return 1
            given = sizes[1:] if operation == "where" else sizes
            known = [size for size in given if size is not None]
            if len(known) < len(given):
                return None
            return self._of(operation, known)

        return combine

    @staticmethod
    def _of(operation: str, sizes: list[int]) -> Size:
        match operation:
            case "add" | "subtract":
                size = sum(sizes)
            case "multiply":
                size = sizes[0] * sizes[1]
            case "negative" | "absolute" | "minimum" | "maximum" | "clip" | "where":
                size = max(sizes)
            case _:
                return None
        return size if size <= LARGEST else None


def largest_whole(tree: Tree) -> int | None:
    """A bound on the size of the whole numbers that an expression has as its values; None if it may have others."""
    found: Size = read(tree, WholeReader())
    return found
