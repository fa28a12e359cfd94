"""Routes for a noisy mean, exact and normal."""
