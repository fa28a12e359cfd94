"""Inversions that decay slowly: few records, atoms, narrow noise, and means on lattices, which are summed."""
