"""Chains: how they are put together, started, adapted and run."""
