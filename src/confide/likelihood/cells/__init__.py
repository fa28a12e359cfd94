"""Noisy counts of disjoint cells: their exact likelihood, whatever the number of cells."""
