"""Order statistics at one known θ, in NumPy: what is asked for once does not wait for a compiler."""
