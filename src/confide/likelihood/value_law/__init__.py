"""The law of V = s(clip X): distribution, quantiles and steps."""
