"""Every kernel leaves every target's posterior invariant, and the test that says so catches planted bugs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.inference.kernel import Averaged, CorrelatedPseudoMarginal, PseudoMarginal, WithinGibbs
from confide.inference.kernel.base import State
from confide.inference.kernel.proposal import Proposal
from confide.prior import Prior
from tests.statistical.exact_start import ALPHA, Case, p_value, scalar_prior

POPULATION = cf.populations.normal_variance()
PRIOR = scalar_prior()
#: noise-dominated, and latent-informative
REGIMES = {"noisy": (20, 1.0, 5), "informative": (4, 10.0, 2)}
KERNELS = {
    "pmmh": PseudoMarginal,
    "mhaar": Averaged,
    "gibbs": lambda copies: WithinGibbs(),
    "correlated": lambda copies: CorrelatedPseudoMarginal(jnp.asarray(0.7), copies),
}


def case(latent, regime, population=POPULATION, prior=PRIOR):
    n, epsilon, _ = REGIMES[regime]
    bounds = (-3, 3)
    if latent in ("u", "z", "subset"):
        # the normal approximation of u is the model itself here, so it may be as rough as it likes
        channel = cf.Channel(cf.Mean("abs(x)", bounds), cf.Laplace(cf.PureDP(epsilon)), n)
    elif latent == "each":
        channel = cf.Channel(cf.Each("abs(x)", bounds), cf.Laplace(cf.PureDP(epsilon)), n)
    elif latent == "exponential":
        channel, latent = cf.Channel(cf.Median("abs(x)", bounds), cf.Exponential(cf.PureDP(epsilon)), n), "window"
    else:
        channel = cf.Channel(cf.Median("abs(x)", bounds), cf.SmoothLaplace(cf.ApproxDP(epsilon, 1e-2)), n)
    return Case(latent, cf.Model(population, channel), prior)


LATENTS = ("u", "z", "subset", "each", "window", "anchored", "exponential")
MEANINGFUL = [
    (kernel, latent)
    for kernel in KERNELS
    for latent in LATENTS
    # estimates are of all of z at once, and an anchored start has no noise of its own
    if not (kernel in ("pmmh", "correlated") and latent == "subset")
    and not (kernel == "correlated" and latent == "anchored")
]


#: every target with the paper's kernel, every kernel with the plainest target
FAST = [pair for pair in MEANINGFUL if pair[0] == "mhaar" or pair[1] == "z"]


@pytest.mark.parametrize(
    ("kernel", "latent"),
    [pair if pair[1] in ("z", "u", "each", "window") else pytest.param(*pair, marks=pytest.mark.slow) for pair in FAST],
)
def test_the_posterior_is_invariant_where_the_latent_is_informative(kernel, latent):
    copies = REGIMES["informative"][2]
    assert p_value(case(latent, "informative"), KERNELS[kernel](copies)) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "latent"), MEANINGFUL)
def test_the_posterior_is_invariant_where_noise_dominates(kernel, latent):
    copies = REGIMES["noisy"][2]
    assert p_value(case(latent, "noisy"), KERNELS[kernel](copies), replicates=20_000) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "latent"), MEANINGFUL)
def test_the_posterior_is_invariant_with_more_replicates(kernel, latent):
    copies = REGIMES["informative"][2]
    assert p_value(case(latent, "informative"), KERNELS[kernel](copies), key=1, replicates=20_000) > ALPHA


@pytest.mark.slow
def test_without_a_refresh():
    """Algorithm 7 as printed keeps z on rejection."""
    assert p_value(case("z", "informative"), Averaged(3, refresh=False), replicates=20_000) > ALPHA


TWO = cf.populations.normal()
TWO_PRIOR = Prior.of(TWO, {"mean": dist.Normal(0.0, 1.0), "variance": dist.InverseGamma(3.0, 4.0)})


def pair(latent, regime):
    n, epsilon, _ = REGIMES[regime]
    channel = cf.Channel(cf.Mean(["x", "x**2"], (-3, 3)), cf.Laplace(cf.PureDP(epsilon)), n)
    return Case(latent, cf.Model(TWO, channel), TWO_PRIOR)


@pytest.mark.parametrize(("kernel", "latent"), [("mhaar", "z")])
def test_two_parameters_from_two_noisy_moments(kernel, latent):
    assert p_value(pair(latent, "informative"), KERNELS[kernel](2)) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("regime", list(REGIMES))
@pytest.mark.parametrize("kernel", list(KERNELS))
@pytest.mark.parametrize("latent", ["u", "z"])
def test_two_parameters_with_every_kernel(kernel, latent, regime):
    assert p_value(pair(latent, regime), KERNELS[kernel](REGIMES[regime][2]), replicates=20_000) > ALPHA


# Planted bugs: each must be caught.


class NoJacobian(Proposal):
    def move(self, key, prior, theta):
        moved, _ = Proposal(self.factor).move(key, prior, theta)
        return moved, jnp.zeros(())


class ForgottenPrior(Averaged):
    def step(self, key, target, proposal, state):
        flat = eqx.tree_at(lambda t: t.prior, target, _Flat(target.prior))
        return Averaged(self.copies).step(key, flat, proposal, state._replace(log_prior=jnp.zeros(())))


class _Flat(eqx.Module):
    prior: Prior

    def log_prob(self, theta):
        return jnp.zeros(())

    def __getattr__(self, name):
        return getattr(self.prior, name)


class ReEstimated(PseudoMarginal):
    def step(self, key, target, proposal, state):
        one, two = jax.random.split(key)
        again = PseudoMarginal(self.copies).init(one, target, state.theta)
        return PseudoMarginal(self.copies).step(two, target, proposal, again)


class OldWeights(Averaged):
    def step(self, key, target, proposal, state):
        from confide.inference.kernel import base

        right = base.index_by_share
        captured = {}

        def wrong(uniform, shares):
            return right(uniform, base.shares_of(captured["here"])[0])

        def weights_at(target, thetas, latents, known):
            both = base.weights_at(target, thetas, latents, known)
            captured["here"] = both[0]
            return both

        from confide.inference.kernel import averaged

        saved = averaged.index_by_share, averaged.weights_at
        averaged.index_by_share, averaged.weights_at = wrong, weights_at
        try:
            state, info = Averaged(self.copies).step(key, target, proposal, state)
        finally:
            averaged.index_by_share, averaged.weights_at = saved
        weight = target.log_density(state.theta, state.latent)
        return State(state.theta, state.log_prior, state.latent, weight), info


def test_planted_a_missing_jacobian():
    assert p_value(case("z", "informative"), Averaged(2), proposal=NoJacobian(0.8 * jnp.eye(1))) < ALPHA


def test_planted_a_forgotten_prior():
    assert p_value(case("z", "noisy"), ForgottenPrior(2)) < ALPHA


def test_planted_the_current_point_estimated_anew():
    assert p_value(case("z", "informative"), ReEstimated(2)) < ALPHA


def test_planted_the_index_from_the_old_weights():
    assert p_value(case("z", "informative"), OldWeights(2)) < ALPHA


def test_planted_a_wrong_noise_scale():
    told = case("z", "informative")
    wrong = cf.Channel(cf.Mean("abs(x)", (-3, 3)), cf.Laplace(cf.PureDP(12.0)), 4)
    assert p_value(told, Averaged(2), target_case=Case("z", cf.Model(POPULATION, wrong), PRIOR)) < ALPHA
