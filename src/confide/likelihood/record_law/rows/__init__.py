"""The law of a clipped row: what the columns' laws say together, as nodes and weights."""
