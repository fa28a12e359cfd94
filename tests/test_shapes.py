"""Shapes that are written in annotations are looked at in tests."""

from importlib.util import find_spec
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError

import confide as cf
from confide.likelihood.mean.y_rules import panel_edges
from confide.population.density import score
from tests import shapes

SOURCE = Path(__file__).parents[1] / "src"


def test_an_array_of_another_shape_is_seen():
    law = cf.Exponential(cf.PureDP(1.0)).calibrate(cf.Median("x", bounds=(0, 1)), n=3)
    window = jnp.linspace(0.0, 1.0, 2 * law.window + 1)
    assert law.log_prob(0.5, window).shape == ()
    with pytest.raises(TypeCheckError, match="ranks"):
        law.log_prob(0.5, jnp.asarray(1.0))


@pytest.mark.parametrize("name", shapes.ANNOTATED)
def test_what_is_looked_at_is_annotated(name):
    """A module that lost its last shape would be looked at for nothing, and one that gained some for none."""
    assert find_spec(name) is not None
    annotated = {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for path in SOURCE.rglob("*.py")
        if "from jaxtyping import" in path.read_text()
    }
    assert any(f"{each}.".startswith(f"{name}.") for each in annotated)
    assert all(any(f"{each}.".startswith(f"{known}.") for known in shapes.ANNOTATED) for each in annotated)


def test_rules_over_y_have_a_row_for_each_theta():
    mean, spread = np.zeros(2), np.ones(3)
    with pytest.raises(TypeCheckError, match="panel_edges"):
        panel_edges(mean, spread, 0.0)


def test_the_score_of_a_record_is_of_one_theta():
    with pytest.raises(TypeCheckError, match="theta"):
        score(cf.populations.normal_mean(), jnp.asarray(0.0), jnp.zeros((2, 1)))
