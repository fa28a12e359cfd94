"""What users meet: values that print and hash, misfits that are refused in words, and mechanisms of one's own."""

import doctest
import importlib
import pkgutil
import subprocess
import sys
from dataclasses import FrozenInstanceError

import jax
import numpy as np
import pytest

import confide.mechanism
from confide.errors import IncompatibleError, InvalidArgument, PrivacyError
from confide.mechanism import (
    Exponential,
    Gaussian,
    Laplace,
    Law,
    Mechanism,
    Noiseless,
    RandomizedResponse,
    SmoothCauchy,
    SmoothLaplace,
)
from confide.privacy import GDP, ZCDP, ApproxDP, PureDP, Unlimited
from confide.statistic import Each, Maximum, Mean, Median, Minimum

MEAN = Mean("abs(x)", bounds=(-10, 10))
MEDIAN = Median("abs(x)", bounds=(-10, 10))
EACH = Each("abs(x)", bounds=(-10, 10))
BITS = Each("x > 2", bounds=(0, 5))
PRINTED = [
    (Laplace(PureDP(1.0)), "Laplace(PureDP(epsilon=1.0))", "Laplace noise for 1-differential privacy (pure)"),
    (Laplace(scale=0.5), "Laplace(scale=0.5)", "Laplace noise of scale 0.5"),
    (Gaussian(GDP(2), step=1), "Gaussian(GDP(mu=2.0), step=1.0)", "Gaussian noise on multiples of 1, for"),
    (Gaussian(scale=3, step=0.5), "Gaussian(scale=3.0, step=0.5)", "Gaussian noise of scale 3 on multiples of 0.5"),
    (RandomizedResponse(PureDP(1.0)), "RandomizedResponse(PureDP(epsilon=1.0))", "randomized response, for"),
    (SmoothCauchy(PureDP(1.0), cap=5), "SmoothCauchy(PureDP(epsilon=1.0), cap=5)", "Cauchy noise on the smooth"),
    (SmoothLaplace(ApproxDP(1.0, 0.1)), "SmoothLaplace(ApproxDP(epsilon=1.0, delta=0.1))", "Laplace noise on the"),
    (Exponential(PureDP(1.0)), "Exponential(PureDP(epsilon=1.0))", "the exponential mechanism on ranks, for"),
    (Noiseless(), "Noiseless()", "no noise"),
]


@pytest.mark.parametrize(("mechanism", "written", "said"), PRINTED, ids=[written for _, written, _ in PRINTED])
def test_mechanisms_are_printable_hashable_frozen_values(mechanism, written, said):
    assert repr(mechanism) == written
    assert str(mechanism).startswith(said)
    names = {**vars(confide.mechanism), "PureDP": PureDP, "ApproxDP": ApproxDP, "GDP": GDP}
    twin = eval(written, names)  # what is printed can be typed in again
    assert twin == mechanism
    assert hash(twin) == hash(mechanism)
    with pytest.raises(FrozenInstanceError):
        mechanism.privacy = PureDP(9.0)


MISFITS = [
    (RandomizedResponse(PureDP(1.0)), EACH, "comparison"),
    (RandomizedResponse(PureDP(1.0)), MEAN, "Each"),
    (RandomizedResponse(PureDP(1.0)), Each("0 * x + 2", bounds=(0, 5)), "comparison"),
    (SmoothLaplace(ApproxDP(1.0, 1e-4)), MEAN, "Laplace or Gaussian"),
    (SmoothCauchy(PureDP(1.0)), BITS, "Laplace or Gaussian"),
    (Exponential(PureDP(1.0)), MEAN, "Median"),
    (Exponential(PureDP(1.0)), Median("0 * x + 2", bounds=(0, 5)), "nothing to release"),
    (SmoothCauchy(PureDP(1.0)), Median("0 * x + 2", bounds=(0, 5)), "nothing to release"),
    (Laplace(PureDP(1.0)), Mean("0 * x + 2", bounds=(0, 5)), "nothing to release"),
]


@pytest.mark.parametrize(("mechanism", "statistic", "remedy"), MISFITS, ids=lambda part: str(part)[:40])
def test_misfits_name_both_sides_and_a_remedy(mechanism, statistic, remedy):
    with pytest.raises(IncompatibleError, match=remedy) as caught:
        mechanism.calibrate(statistic, 10)
    assert repr(mechanism) in str(caught.value)
    assert repr(statistic) in str(caught.value)
    with pytest.raises(IncompatibleError):
        mechanism.guarantee(statistic, 10)


@pytest.mark.parametrize(
    ("kind", "privacy", "remedy"),
    [
        (Gaussian, PureDP(1.0), "Laplace"),
        (SmoothLaplace, PureDP(1.0), "SmoothCauchy"),
        (SmoothLaplace, GDP(1.0), "ApproxDP"),
        (SmoothCauchy, ApproxDP(1.0, 1e-6), "SmoothLaplace"),
        (Exponential, ZCDP(1.0), "PureDP"),
        (Exponential, ApproxDP(1.0, 1e-6), "SmoothLaplace"),
    ],
)
def test_guarantees_that_a_mechanism_cannot_give(kind, privacy, remedy):
    with pytest.raises(IncompatibleError, match=remedy):
        kind(privacy)


@pytest.mark.parametrize("kind", [Laplace, Gaussian, RandomizedResponse, SmoothLaplace, SmoothCauchy, Exponential])
def test_no_privacy_is_asked_of_noiseless_only(kind):
    with pytest.raises(PrivacyError, match=r"Noiseless\(\)"):
        kind(Unlimited())
    with pytest.raises(InvalidArgument, match="not a guarantee"):
        kind(1.0)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (Laplace, "scale"),
        (lambda: Gaussian(GDP(1.0), scale=1.0), "scale"),
        (lambda: Laplace(scale=0.0), "scale"),
        (lambda: Laplace(scale=float("nan")), "scale"),
        (lambda: Gaussian(scale="1"), "scale"),
        (lambda: Gaussian(scale=True), "scale"),
        (lambda: Laplace(PureDP(1.0), step=-1.0), "step"),
        (lambda: Laplace(PureDP(1.0), step=float("inf")), "step"),
        (lambda: Laplace(PureDP(1.0), step=object()), "step"),
        (lambda: SmoothLaplace(ApproxDP(1.0, 1e-6), alpha=0.0), "alpha"),
        (lambda: SmoothCauchy(PureDP(1.0), beta=-0.1), "beta"),
        (lambda: SmoothCauchy(PureDP(1.0), cap=0), "cap"),
        (lambda: SmoothCauchy(PureDP(1.0), cap=2.5), "cap"),
        (lambda: Exponential(PureDP(1.0), cap=True), "cap"),
    ],
)
def test_bad_options_are_named(call, argument):
    with pytest.raises(InvalidArgument) as caught:
        call()
    assert caught.value.argument == argument


@pytest.mark.parametrize("mechanism", [m for m, _, _ in PRINTED], ids=[written for _, written, _ in PRINTED])
@pytest.mark.parametrize("n", [0, -3, 2.5, True])
def test_an_impossible_number_of_records_is_refused(mechanism, n):
    statistic = BITS if isinstance(mechanism, RandomizedResponse) else MEDIAN
    with pytest.raises(InvalidArgument, match="n = "):
        mechanism.calibrate(statistic, n)


@pytest.mark.parametrize("mechanism", [m for m, _, _ in PRINTED if m.privacy is not None], ids=str)
def test_the_guarantee_is_the_one_that_was_asked_for(mechanism):
    statistic = BITS if isinstance(mechanism, RandomizedResponse) else MEDIAN
    assert mechanism.guarantee(statistic, 20) == mechanism.privacy


def test_additive_noise_fits_every_statistic():
    for statistic in (MEAN, MEDIAN, EACH, BITS, Mean(["x", "x**2"], bounds=(-1, 1)), Maximum("x", bounds=(0, 1))):
        for mechanism in (Laplace(PureDP(1.0)), Gaussian(GDP(1.0)), Laplace(PureDP(1.0), step=0.1), Noiseless()):
            assert isinstance(mechanism.calibrate(statistic, 10), Law)


def test_noiseless_releases_the_statistic_and_has_no_density():
    law = Noiseless().calibrate(Minimum("x", bounds=(0, 1)), 5)
    assert law.sample(jax.random.key(0), np.array([[0.2], [0.4]])).tolist() == pytest.approx([0.2, 0.4])
    assert Noiseless().calibrate(MEAN, 5).sample(jax.random.key(0), np.array([1.0, 2.0])).shape == (2,)
    assert Noiseless().guarantee(MEAN, 5) == Unlimited()
    with pytest.raises(IncompatibleError, match="no density"):
        law.log_prob(0.2, np.array([0.2]))


def test_the_bases_are_abstract():
    for base in (Mechanism, Law):
        with pytest.raises(TypeError):
            base()


def test_public_names_exist():
    assert sorted(confide.mechanism.__all__) == sorted(set(confide.mechanism.__all__))
    assert all(hasattr(confide.mechanism, name) for name in confide.mechanism.__all__)


MODULES = [module.name for module in pkgutil.iter_modules(confide.mechanism.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(f"confide.mechanism.{name}"))
    assert result.failed == 0


def test_import_leaves_the_configuration_of_jax_alone():
    code = "import jax, confide.mechanism; assert not jax.config.jax_enable_x64"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
