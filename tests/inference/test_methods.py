"""Methods and routes are objects; a name is a shorthand, and one's own come in by the same door."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.inference.kernel import Averaged
from confide.inference.methods import METHODS, OnLatents, as_method

POPULATION = cf.populations.bernoulli()
PRIOR = {"probability": dist.Beta(2.0, 2.0)}
CHANNEL = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.1), n=20)
RELEASE = cf.Release(CHANNEL, 0.4)
SHORT = {"chains": 2, "warmup": 50, "draws": 50}


@pytest.mark.parametrize(
    ("name", "options", "method"),
    [
        ("grid", {}, cf.Grid()),
        ("mh", {"walk": cf.Walk(0.3)}, cf.MH(walk=cf.Walk(0.3))),
        ("mhaar", {"copies": 3, "latent": "z"}, cf.MHAAR(copies=3, latent="z")),
        ("pmmh", {"copies": 3, "latent": "u"}, cf.PMMH(copies=3, latent="u")),
    ],
)
def test_a_name_with_options_is_the_object_that_holds_them(name, options, method):
    said = cf.infer(POPULATION, RELEASE, PRIOR, method=name, **options, **SHORT)
    held = cf.infer(POPULATION, RELEASE, PRIOR, method=method, **SHORT)
    np.testing.assert_array_equal(said.draws["probability"], held.draws["probability"])
    assert said.method == held.method == name


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_its_name_and_equal_to_another_of_the_same_options(name):
    method = as_method(name, {})
    assert method.name == name and method == as_method(name, {}) and hash(method) == hash(as_method(name, {}))
    assert type(method) is getattr(cf, type(method).__name__)


def test_options_that_one_method_on_latents_has_may_be_given_beside_the_name_of_another():
    assert as_method("gibbs", {"copies": 5, "latent": "u"}) == cf.Gibbs(latent="u")


@pytest.mark.parametrize(
    ("method", "options", "said"),
    [
        ("grid", {"copies": 5}, "not options of method 'grid'"),
        ("mh", {"copies": 5}, "not options of method 'mh'"),
        ("mhaar", {"copy": 5}, "copies"),
        ("mhar", {}, "is not a method"),
        (7, {}, "is not a method"),
        (cf.MHAAR(), {"copies": 5}, r"give them to MHAAR\(…\)"),
        ("mhaar", {"copies": 1}, "at least 2"),
        ("pmmh", {"copies": True}, "at least 1"),
        ("correlated", {"correlation": 1.0}, r"\[0, 1\)"),
        ("mhaar", {"latent": "v"}, "not a latent"),
        ("mhaar", {"centre": "left"}, "not a centre"),
    ],
)
def test_what_a_method_cannot_be_told_is_said(method, options, said):
    with pytest.raises(cf.InvalidArgument, match=said):
        cf.infer(POPULATION, RELEASE, PRIOR, method=method, **options)


def test_a_kernel_of_ones_own_moves_the_latents_that_ours_do():
    own = cf.infer(POPULATION, RELEASE, PRIOR, method=cf.OwnKernel(moves=Averaged(3), latent="z"), **SHORT)
    ours = cf.infer(POPULATION, RELEASE, PRIOR, method=cf.MHAAR(copies=3, latent="z"), **SHORT)
    np.testing.assert_array_equal(own.draws["probability"], ours.draws["probability"])
    assert own.method == "Averaged" and issubclass(cf.OwnKernel, OnLatents)


@dataclass(frozen=True)
class Twice(cf.Route):
    """A route of a user's own: two records that are coins, added up by hand."""

    scale: float

    name = "twice"
    error = "none"

    def refuses(self, model):
        return None if model.channel.n == 2 else "this serves two records"

    def log_prob(self, model, theta, value):
        p = theta[0]
        masses = jnp.stack([(1 - p) ** 2, 2 * p * (1 - p), p**2])
        return jnp.log(masses @ jnp.exp(-jnp.abs(value - jnp.asarray([0.0, 0.5, 1.0])) / self.scale) / (2 * self.scale))

    def information(self, model, thetas):
        y = np.linspace(-8, 9, 200_001)

        def one(theta):
            log_p = jax.vmap(lambda value: self.log_prob(model, theta, value))(y)
            score = jax.vmap(lambda value: jax.grad(lambda t: self.log_prob(model, t, value))(theta))(y)
            return jnp.sum(score[:, :, None] * score[:, None, :] * jnp.exp(log_p)[:, None, None], axis=0) * (
                y[1] - y[0]
            )

        return jnp.stack([one(jnp.asarray(theta)) for theta in thetas])


def test_a_route_of_ones_own_answers_every_verb():
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.3), n=2)
    model, route, release = cf.Model(POPULATION, channel), Twice(0.3), cf.Release(channel, 0.4)
    np.testing.assert_allclose(model.log_likelihood(0.3, 0.4, route=route), model.log_likelihood(0.3, 0.4), rtol=1e-12)
    np.testing.assert_allclose(
        cf.information(model, 0.3, method=route).matrix, cf.information(model, 0.3).matrix, rtol=1e-5
    )
    own = cf.infer(POPULATION, release, PRIOR, route=route)
    assert own.route == "twice"
    np.testing.assert_allclose(
        own.mean["probability"], cf.infer(POPULATION, release, PRIOR).mean["probability"], rtol=1e-9
    )
    with pytest.raises(cf.IncompatibleError, match="this serves two records"):
        cf.infer(POPULATION, RELEASE, PRIOR, route=route)


def test_a_route_is_an_object_that_has_options():
    channel = cf.Channel(cf.Median("x", bounds=(0, 1)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-6)), n=21)
    model = cf.Model(cf.populations.normal_mean(), channel)
    few, more = (cf.information(model, 0.4, method=cf.Pool(size=size)).standard_error for size in (256, 4096))
    assert more.item() < few.item()
    with pytest.raises(cf.InvalidArgument, match="is not a route"):
        model.log_likelihood(0.4, 0.5, route=3)
