"""No noise: the statistic itself. For comparison with the private releases, never for release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from confide._final import final
from confide.errors import IncompatibleError
from confide.mechanism.additive import Layout, layout_of
from confide.mechanism.base import Law, Mechanism
from confide.mechanism.noise import OWN
from confide.privacy import Privacy, Unlimited
from confide.statistic import Statistic
from confide.statistic.size import check_size


@final(OWN)
class NoiselessLaw(Law):
    """All mass at the statistic."""

    layout: Layout = eqx.field(static=True, default="scalar")
    noiseless = True

    @property
    def window(self) -> int:
        """No rank but the statistic's own."""
        return 0

    @property
    def description(self) -> str:
        """Nothing is done."""
        return "no noise"

    def margin(self, probability: float = 0.9) -> float:
        """The statistic itself."""
        del probability
        return 0.0

    def sample(self, key: jax.Array, summary: Float[Array, "..."]) -> Float[Array, "..."]:
        """The statistic."""
        del key
        u = jnp.asarray(summary)
        return u[..., u.shape[-1] // 2] if self.layout == "window" else u

    def log_prob(self, value: Float[Array, "..."], summary: Float[Array, "..."]) -> NoReturn:
        """Refused: there is no density."""
        raise IncompatibleError(
            "a noiseless release has no density given the records, for it is a function of them; "
            "use the law of the statistic itself, or a mechanism with noise"
        )


@dataclass(frozen=True)
class Noiseless(Mechanism):
    """The statistic without noise.

    >>> Noiseless().privacy
    Unlimited()
    """

    @property
    def privacy(self) -> Unlimited:  # type: ignore[override]
        """None at all."""
        return Unlimited()

    def calibrate(self, statistic: Statistic, n: int | None) -> NoiselessLaw:
        """All mass at the statistic."""
        check_size(statistic, n)
        return NoiselessLaw(layout_of(statistic))

    def guarantee(self, statistic: Statistic, n: int | None) -> Privacy:
        """Nothing is promised."""
        return self.privacy

    def __str__(self) -> str:
        return "no noise"
