"""Fisher information of a published value."""

from confide.information.result import Information
from confide.information.verb import information

__all__ = ["Information", "information"]
