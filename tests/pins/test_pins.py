"""Pinned numbers hold, on the machine that they were recorded on to the last bits, elsewhere to 1e-12."""

import json

import pytest

from tests.pins.__main__ import FILE, moved, numbers
from tests.pins.models import PINS

PINNED = json.loads(FILE.read_text())


def test_every_model_is_pinned():
    assert PINNED.keys() == PINS.keys()


def test_a_number_that_moved_is_seen():
    pinned = PINNED["mean clipped"]
    off = {kind: [value * (1 + 1e-10) for value in values] for kind, values in pinned.items()}
    assert not moved("same", pinned, pinned)
    assert len(moved("other", off, pinned)) == len(pinned)


@pytest.mark.slow
@pytest.mark.parametrize("name", PINS)
def test_numbers_hold(name):
    assert not moved(name, numbers(PINS[name]), PINNED[name])
