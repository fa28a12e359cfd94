"""What a family may supply beyond its density."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import jax
from numpyro.distributions import Distribution

Form: TypeAlias = Callable[..., jax.Array]
Noise: TypeAlias = "Distribution | Callable[[], Distribution]"


@dataclass(frozen=True)
class ClosedForms:
    """Closed forms as functions of scalars, each None where the family has nothing better than what is derived."""

    noise: Noise | None = None
    transform: Form | None = None
    cdf: Form | None = None
    survival: Form | None = None
    quantile: Form | None = None
    information: Form | None = None
    breaks: Form | None = None
    moving: bool | None = None
