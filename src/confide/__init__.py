"""Confide."""
