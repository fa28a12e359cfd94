"""Kernels: one way each to move (θ, latent) and leave the target invariant."""

from confide.inference.kernel.averaged import Averaged
from confide.inference.kernel.base import Info, Kernel, State
from confide.inference.kernel.correlated import CorrelatedPseudoMarginal
from confide.inference.kernel.gibbs import WithinGibbs
from confide.inference.kernel.marginal import Marginal
from confide.inference.kernel.pseudo import PseudoMarginal

__all__ = [
    "Averaged",
    "CorrelatedPseudoMarginal",
    "Info",
    "Kernel",
    "Marginal",
    "PseudoMarginal",
    "State",
    "WithinGibbs",
]
