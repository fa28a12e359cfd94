"""Searching: a tabulated population, candidates by the thousand, and their approximate information."""
