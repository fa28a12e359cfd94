"""Noise on whole numbers, from OpenDP, and the scale that a guarantee needs of it.

OpenDP's discrete Laplace and discrete Gaussian are exact: P(k) ∝ e^{−|k|/s} and P(k) ∝ e^{−k²/2s²} with s the very
float that is given, sampled in rational arithmetic from a secure generator. So the guarantee is that of the
discrete laws at an integer sensitivity, which `confide.mechanism.discrete` computes; here the scale only has to be
rounded up.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from confide.errors import IncompatibleError
from confide.mechanism.discrete import discrete_gaussian_ratio, discrete_laplace_rate
from confide.privacy import Privacy, PureDP
from confide.privacy.rounding import round_up

Kind = Literal["laplace", "gaussian"]

#: what the numerics of a calibration may be off by, relatively, and are rounded up by (the noise grows by a billionth)
MARGIN = 2.0**-30
#: OpenDP counts noise in 64 bits; beyond this scale a tail of more than e^{−100} would not fit
LARGEST_SCALE = 2.0**56


def laplace_scale(privacy: Privacy, sensitivity: int) -> float:
    """The smallest scale known to keep the promise when the whole number moves by at most `sensitivity`, rounded up.

    >>> laplace_scale(PureDP(1.0), 10)
    10.0
    """
    if isinstance(privacy, PureDP):
        return round_up(Fraction(sensitivity) / Fraction(privacy.epsilon))
    return _up(1 / discrete_laplace_rate(privacy, sensitivity))


def gaussian_scale(privacy: Privacy, squared: int, dimension: int) -> float:
    """The same for the discrete Gaussian, for a vector of whole numbers that moves by at most √squared in L2."""
    return _up(discrete_gaussian_ratio(privacy, squared, dimension))


def _up(scale: float) -> float:
    return math.nextafter(scale * (1 + MARGIN), math.inf)


def check_scale(scale: float) -> float:
    """A scale that 64-bit noise can have."""
    if 0 < scale <= LARGEST_SCALE:
        return scale
    raise IncompatibleError(
        "the noise would not fit into 64-bit integers, for the channel has too many records; release parts of them"
    )


def draw(kind: Kind, scale: float, count: int) -> list[int]:
    """Independent noise, from OpenDP.

    Noise is drawn around 0 and added to the exact number outside, in whole numbers of any size, so that nothing
    saturates.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if kind == "laplace":
        measurement = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=check_scale(scale))
    else:
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=check_scale(scale))
    drawn: list[int] = measurement([0] * count)
    return drawn
