"""Mistakes of the paper and of its published code, kept to show what they did. Nothing outside `confide.paper` uses them.

Errata are numbered as in the reproduction's page. Every name here says what is wrong with it.
"""

from __future__ import annotations


def example_4_information(theta: float, epsilon: float, n: int) -> float:
    """Erratum 4: F2 of Example 4 as printed, without the factor ½ on the variance term."""
    spread = theta * (1 - theta) + 1 / epsilon**2
    return (n * spread + (1 - 2 * theta) ** 2) / spread**2
