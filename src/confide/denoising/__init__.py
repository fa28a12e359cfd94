"""What the true counts were, given the noisy ones: `denoise`."""

from confide.denoising.result import TrueCounts
from confide.denoising.verb import denoise

__all__ = ["TrueCounts", "denoise"]
