"""The law of one clipped record: nodes and weights, at known θ and inside a trace."""
