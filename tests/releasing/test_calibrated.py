"""A file says how much noise a guarantee was calibrated to, so that a later calibration does not change what is read."""

import json

import numpy as np
import pytest

import confide as cf
from confide.published.errors import FileError
from confide.published.file import parse

CELLS = cf.Mean(["x < 1", "(x >= 1) * (x < 2)", "x >= 2"], bounds=(0, 3))
CHANNEL = cf.Channel(CELLS, cf.Laplace(cf.PureDP(1.0), step=0.01), n=100)


def form(**changes):
    from confide.published.codec import encode

    return json.dumps(encode(cf.Release(CHANNEL, [0.4, 0.3, 0.3])) | changes)


def test_the_noise_is_written_down():
    assert json.loads(form())["noise"] == pytest.approx(0.02)
    assert parse(form()).channel == CHANNEL


def test_a_file_of_a_coarser_calibration_is_read_with_the_noise_that_it_has():
    # three cells were once rounded one by one: scale 0.03 for the same promise
    release = parse(form(noise=0.03))
    assert release.channel.law.noise.scale == 0.03
    assert release.guarantee.implies(cf.PureDP(1.0))
    assert release.guarantee.epsilon == pytest.approx(2 / 3)
    np.testing.assert_array_equal(release.value, [0.4, 0.3, 0.3])


def test_noise_that_does_not_keep_the_promise_is_refused():
    with pytest.raises(FileError, match="guarantee is not the one"):
        parse(form(noise=0.01))


def test_noise_beside_a_scale_is_refused():
    given = json.loads(form())
    given["channel"]["mechanism"] = {"kind": "Laplace", "scale": 0.02, "step": 0.01}
    with pytest.raises(FileError, match="given twice"):
        parse(json.dumps(given))


def test_a_file_without_the_field_is_read_as_before():
    given = json.loads(form())
    del given["noise"]
    assert parse(json.dumps(given)).channel == CHANNEL


def test_noise_that_follows_the_records_is_not_written():
    median = cf.Channel(cf.Median("x", bounds=(0, 3)), cf.SmoothCauchy(cf.PureDP(1.0)), n=100)
    from confide.published.codec import encode

    assert "noise" not in encode(cf.Release(median, 1.5))


@pytest.mark.parametrize("noise", [cf.Laplace, cf.Gaussian])
@pytest.mark.parametrize("promise", [cf.PureDP(1.0), cf.ZCDP(0.5), cf.GDP(1.0), cf.ApproxDP(1.0, 1e-6)])
@pytest.mark.parametrize("step", [None, 0.01])
def test_more_noise_than_is_needed_keeps_every_promise_and_less_none(noise, promise, step):
    """The promise of a scale alone is in another unit, and what it implies in the file's may be less than is kept."""
    from confide.published.codec import encode

    if noise is cf.Gaussian and isinstance(promise, cf.PureDP):
        return
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), noise(promise, step=step), n=100)
    form = encode(cf.Release(channel, 0.42))
    for more in (1 + 1e-5, 1.1, 2.0, 1e6):
        read = parse(json.dumps(form | {"noise": form["noise"] * more}))
        assert read.channel.law.noise.scale == pytest.approx(form["noise"] * more, rel=1e-12)
    for less in (1 - 1e-5, 0.9, 1e-6):
        with pytest.raises(FileError, match="guarantee is not the one"):
            parse(json.dumps(form | {"noise": form["noise"] * less}))
