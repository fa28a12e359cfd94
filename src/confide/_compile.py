"""How hard XLA works on a program. What a user waits for first is compilation."""

from __future__ import annotations

#: for what runs once: half the compile time of the default, and code that is two or three times slower
IN_A_HURRY = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}
#: for large programs: passes left out that were measured to gain nothing here and to take a sixth of the compile time
QUICKLY = {"xla_llvm_disable_expensive_passes": True}
