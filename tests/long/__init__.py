"""Checks that take minutes to hours: `python -m tests.long`, on as many processes as there are cores.

They need jax, numpyro, numpy, scipy, equinox and jaxtyping, and no pytest; those that are short enough are slow tests
as well.
"""
