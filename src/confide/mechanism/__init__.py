"""Mechanisms: how noise is added, calibrated to a guarantee, and the laws of the released value that follow."""

from confide.mechanism.additive import AdditiveLaw
from confide.mechanism.base import Law, Mechanism
from confide.mechanism.discrete import squared_steps
from confide.mechanism.exponential import Exponential, ExponentialLaw
from confide.mechanism.gaussian import Gaussian
from confide.mechanism.laplace import Laplace
from confide.mechanism.lattice import DiscreteGaussian, DiscreteLaplace, LatticeNoise
from confide.mechanism.noise import GaussianNoise, LaplaceNoise, Noise
from confide.mechanism.noiseless import Noiseless, NoiselessLaw
from confide.mechanism.response import RandomizedResponse, ResponseLaw
from confide.mechanism.sensitivity import smooth_sensitivity
from confide.mechanism.smooth import SmoothCauchy, SmoothCauchyLaw, SmoothLaplace, SmoothLaplaceLaw, SmoothLaw

__all__ = [
    "AdditiveLaw",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "ExponentialLaw",
    "Gaussian",
    "GaussianNoise",
    "Laplace",
    "LaplaceNoise",
    "LatticeNoise",
    "Law",
    "Mechanism",
    "Noise",
    "Noiseless",
    "NoiselessLaw",
    "RandomizedResponse",
    "ResponseLaw",
    "SmoothCauchy",
    "SmoothCauchyLaw",
    "SmoothLaplace",
    "SmoothLaplaceLaw",
    "SmoothLaw",
    "smooth_sensitivity",
    "squared_steps",
]
