"""Shapes that are written in annotations are looked at in tests."""

import jax.numpy as jnp
import pytest
from jaxtyping import TypeCheckError

import confide as cf


def test_an_array_of_another_shape_is_seen():
    law = cf.Exponential(cf.PureDP(1.0)).calibrate(cf.Median("x", bounds=(0, 1)), n=3)
    window = jnp.linspace(0.0, 1.0, 2 * law.window + 1)
    assert law.log_prob(0.5, window).shape == ()
    with pytest.raises(TypeCheckError, match="ranks"):
        law.log_prob(0.5, jnp.asarray(1.0))
