"""What `information` returns: the Fisher information of a published value, its error and how it was found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from confide._digits import around

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Information:
    """The Fisher information of a channel's published value about θ.

    `matrix` is d×d, with a leading grid axis if θ has one. `standard_error` is zero where the method is deterministic.
    `efficiency` is the share of the n records' own information, tr((n·I)⁻¹F)/d: the price of privacy and of the choice
    of statistic. It is None where the records' information is undefined (a support that moves with θ).

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Gaussian(cf.GDP(1.0)), n=100)
    >>> found = cf.information(cf.Model(cf.populations.bernoulli(), channel), 0.5, method="normal")
    >>> print(found.matrix.round(3), found.method, found.exact)
    [[384.615]] normal False
    """

    theta: Floats
    matrix: Floats
    standard_error: Floats
    method: str
    efficiency: Floats | None
    names: tuple[str, ...]
    exact: bool
    note: str = ""

    def __str__(self) -> str:
        lines = [f"Fisher information about {', '.join(self.names)} (method {self.method!r}{self._error_words()})"]
        matrices = self.matrix.reshape(-1, *self.matrix.shape[-2:])
        errors = self.standard_error.reshape(matrices.shape)
        thetas = self.theta.reshape(-1, self.theta.shape[-1])
        shares = None if self.efficiency is None else np.reshape(self.efficiency, -1)
        for i in _shown(len(matrices)):
            if i is None:
                lines.append(f"  … {len(matrices)} values of theta in all")
                continue
            at = ", ".join(f"{value:g}" for value in thetas[i])
            share = "" if shares is None else f"   efficiency {shares[i]:.1%}"
            lines.append(
                f"  theta = {at}: {_matrix_text(matrices[i], errors[i])}{share}{_spread(self.names, matrices[i])}"
            )
        return "\n".join(lines + ([self.note] if self.note else []))

    __repr__ = __str__

    def _error_words(self) -> str:
        if np.any(self.standard_error > 0):
            return ", Monte Carlo"
        return "" if self.exact else ", an approximation"


def _shown(count: int) -> list[int | None]:
    return list(range(count)) if count <= 8 else [0, 1, 2, None, count - 2, count - 1]


def _matrix_text(matrix: Floats, error: Floats) -> str:
    def entry(value: float, spread: float) -> str:
        return f"{value:.6g}" + (f" ± {spread:.2g}" if spread > 0 else "")

    if matrix.shape == (1, 1):
        return entry(matrix[0, 0], error[0, 0])
    rows = (
        "[" + ", ".join(entry(v, e) for v, e in zip(row, spread, strict=True)) + "]"
        for row, spread in zip(matrix, error, strict=True)
    )
    return "[" + ", ".join(rows) + "]"


def _spread(names: tuple[str, ...], matrix: Floats) -> str:
    """How well each parameter will be known: the root of the diagonal of F⁻¹, a standard deviation."""
    values = np.linalg.eigvalsh(matrix) if np.all(np.isfinite(matrix)) else np.zeros(1)
    if len(names) != len(matrix) or values[0] <= 1e-12 * values[-1]:
        return ""  # a parameter is not learnt at all, or several are bound together
    deviations = np.sqrt(np.diag(np.linalg.inv(matrix)))
    return "   " + ", ".join(
        f"{name} to ± {around(each, digits=3)} (sd)" for name, each in zip(names, deviations, strict=True)
    )


def efficiency(matrix: Float[Floats, "... d d"], records: Floats | None) -> Floats | None:
    """tr(J⁺F)/rank(J) with J the information of all records: the mean share over the directions that J can tell."""
    if records is None:
        return None
    inverse = np.linalg.pinv(records, rcond=1e-12, hermitian=True)
    rank = np.linalg.matrix_rank(records, tol=None, hermitian=True)
    return np.asarray(np.einsum("...ij,...ji->...", inverse, matrix) / rank)
