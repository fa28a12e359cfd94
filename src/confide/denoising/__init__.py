"""What the true counts were, given the noisy ones: `denoise`."""

from confide.denoising.result import TrueCounts
from confide.denoising.table import CountTable, published_counts
from confide.denoising.verb import denoise

__all__ = ["CountTable", "TrueCounts", "denoise", "published_counts"]
