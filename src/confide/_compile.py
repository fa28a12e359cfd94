"""How hard XLA works on a program. What a user waits for first is compilation."""

from __future__ import annotations

import jax

#: for what runs once: half the compile time of the default, and code that is two or three times slower
IN_A_HURRY: dict[str, bool | int | float | str] = {"xla_backend_optimization_level": 1}
if jax.__version_info__ < (0, 11):  # later versions know no such option, and refuse it
    IN_A_HURRY["xla_cpu_use_fusion_emitters"] = False
#: for large programs: passes left out that were measured to gain nothing here and to take a sixth of the compile time
QUICKLY: dict[str, bool | int | float | str] = {"xla_llvm_disable_expensive_passes": True}
