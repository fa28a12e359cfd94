"""What frequentists ask of a published number: estimates, confidence sets and p-values."""

from confide.frequentist.apart import EstimateContrast
from confide.frequentist.result import Estimate
from confide.frequentist.verb import estimate

__all__ = ["Estimate", "EstimateContrast", "estimate"]
