"""Routes for one noisy value per record."""
