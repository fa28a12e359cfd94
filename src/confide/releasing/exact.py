"""Exact sampling, in whole numbers, from the operating system's generator: no floating point, no approximation.

Each sampler's law is exactly the one in its docstring, given that the system's random bits are uniform.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

#: bits of a uniform number that are drawn at a time; more are drawn until the answer is certain, so none is lost
_BITS = 64


def bernoulli(probability: Fraction) -> bool:
    """True with exactly this probability."""
    return secrets.randbelow(probability.denominator) < probability.numerator


def bernoulli_exp(rate: Fraction) -> bool:
    """True with probability e^{−rate} exactly, rate ≥ 0 (Canonne, Kamath and Steinke 2020, Algorithm 1).

    For rate ≤ 1 draw successes with probabilities rate/1, rate/2, … up to the first failure, the K-th: P(K > k) =
    rateᵏ/k!, so that P(K odd) = Σ (−rate)ᵏ/k! = e^{−rate}. A larger rate is a product of such.
    """
    while rate > 1:
        if not bernoulli_exp(Fraction(1)):
            return False
        rate -= 1
    k = 1
    while bernoulli(rate / k):
        k += 1
    return k % 2 == 1


def rounded_cauchy(scale: Fraction) -> int:
    """⌊scale·Z + ½⌋ for a standard Cauchy Z, exactly.

    Ratio of uniforms: for (U, V) uniform in the half disc U > 0, U² + V² ≤ 1 the ratio V/U is Cauchy. Bits of U and
    |V| are drawn until it is decided whether the point is inside and which whole number the ratio is rounded to;
    the sign is one more bit. A tie has probability 0, so no rule for it is needed.
    """
    while True:
        bits = _BITS + max(scale.numerator.bit_length() - scale.denominator.bit_length(), 0)
        u, v = secrets.randbits(bits), secrets.randbits(bits)
        while True:
            one = 1 << 2 * bits
            if u * u + v * v >= one:
                break  # surely outside: try again with a new point
            decided = u > 0 and (u + 1) ** 2 + (v + 1) ** 2 <= one
            if decided:
                least = _half_up(scale * v, u + 1)
                if least == _half_up(scale * (v + 1), u):
                    return least if secrets.randbits(1) else -least
            u, v = (u << _BITS) | secrets.randbits(_BITS), (v << _BITS) | secrets.randbits(_BITS)
            bits += _BITS


def _half_up(numerator: Fraction, divisor: int) -> int:
    return (numerator / divisor + Fraction(1, 2)).__floor__()


def weighted_index(weights: Sequence[int]) -> int:
    """The index i with probability weights[i]/Σ weights exactly."""
    totals = list(accumulate(weights))
    drawn = secrets.randbelow(totals[-1])
    return next(index for index, total in enumerate(totals) if drawn < total)


def random_words(count: int) -> Any:
    """Uniform 64-bit words."""
    return np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64)


def bernoulli_many(probability: Fraction, count: int) -> Any:
    """Independent booleans, true with exactly this probability, a multiple of 2⁻⁶⁴ (as floats from 2⁻¹¹ are)."""
    threshold = probability * 2**64
    if threshold.denominator != 1 or not 0 < threshold < 2**64:
        raise ArithmeticError("the probability is no multiple of 2**-64 strictly between 0 and 1")
    return random_words(count) < np.uint64(threshold.numerator)


def below_many(bound: int, count: int) -> Any:
    """Independent uniform whole numbers in 0, …, bound − 1: remainders of 64-bit words, the last few drawn anew."""
    if bound == 1:
        return np.zeros(count, dtype=np.int64)
    limit = np.uint64(2**64 - 2**64 % bound - 1)
    words = random_words(count).copy()
    while np.any(again := words > limit):
        words[again] = random_words(int(again.sum()))
    return (words % np.uint64(bound)).astype(np.int64)


def permutation(count: int) -> Any:
    """A uniform permutation: the order of distinct random words (drawn anew should two be equal)."""
    while True:
        order = np.argsort(words := random_words(count), kind="stable")
        if count < 2 or np.all(np.diff(words[order]) > 0):
            return order
