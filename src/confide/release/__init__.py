"""Releasing for real: the only package that reads records. Nothing that models, chooses or infers may import it."""

from confide.release.verb import release

__all__ = ["release"]
