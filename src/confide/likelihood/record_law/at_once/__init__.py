"""Laws of a record that moves with θ, at known θ, in NumPy: what is asked for once does not wait for a compiler."""
