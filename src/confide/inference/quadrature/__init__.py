"""Posteriors of one and two parameters by quadrature."""
