"""How hard XLA works on a program. What a user waits for first is compilation."""

from __future__ import annotations

import jax
import jax.numpy as jnp

#: for what runs once: half the compile time of the default, and code that is two or three times slower
IN_A_HURRY: dict[str, bool | int | float | str] = {"xla_backend_optimization_level": 1}
if jax.__version_info__ < (0, 11):  # later versions know no such option, and refuse it
    IN_A_HURRY["xla_cpu_use_fusion_emitters"] = False
#: for large programs: passes left out that were measured to gain nothing here and to take a sixth of the compile time
QUICKLY: dict[str, bool | int | float | str] = {"xla_llvm_disable_expensive_passes": True}


def once(value: jax.Array) -> jax.Array:
    """The same numbers, computed once.

    XLA on a CPU puts what it takes for cheap into the loop of each that uses it, a proposed θ with its random bits, say,
    into a loop over records. A running sum it computes by itself, and that of nothing and a number is the number.
    """
    return jnp.cumsum(jnp.stack([jnp.zeros_like(value), value]), axis=0)[1]
