"""The same examples in every run: a red run means a bug, not luck."""

import sys
from pathlib import Path

import jax
import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

from tests import shapes

# what is annotated with shapes is looked at whenever a test calls it; before anything of ours is imported
sys.modules["tests"].shapes = shapes
install_import_hook(shapes.ANNOTATED, "tests.shapes.checked")
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
# programs that another run has kept decide nothing here; processes that tests start are as a user's
jax.config.update("jax_enable_compilation_cache", False)

#: a process may have 65,530 maps of memory by default. A compiled program takes a few, and XLA dies without a word when
#: there are no more: a worker that has run half of the tests is near it
_MOST_MAPS = 30_000


@pytest.fixture(autouse=True, scope="module")
def few_programs():
    """Forget compiled programs after a module when there are too many of them."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_text().count("\n") > _MOST_MAPS:
        jax.clear_caches()
