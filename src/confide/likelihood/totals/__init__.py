"""Sums over the records, of a public number of them or of one that is private."""
