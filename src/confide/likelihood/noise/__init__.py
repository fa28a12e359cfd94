"""Noise as the likelihood sees it: its transform, its density, and its lattice."""
