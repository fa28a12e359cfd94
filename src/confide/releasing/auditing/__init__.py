"""Neighbouring tables through the whole pipeline: whether one record shows more than the noise hides."""

from confide.releasing.auditing.result import Audit, Failure
from confide.releasing.auditing.shapes import Shape
from confide.releasing.auditing.verb import audit

__all__ = ["Audit", "Failure", "Shape", "audit"]
