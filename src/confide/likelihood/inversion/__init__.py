"""From the transform of a noisy mean to its density: contours, frequencies, and sums where these do not serve."""
