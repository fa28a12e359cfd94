"""Inference: from a published number to what is known about the population."""

from confide.inference.kernel.proposal import Walk
from confide.inference.verb import infer

__all__ = ["Walk", "infer"]
