"""A result as one self-contained HTML page: what is said (`content`), how to make it again (`script`), the page."""

from confide.reporting.verb import report, writable

__all__ = ["report", "writable"]
