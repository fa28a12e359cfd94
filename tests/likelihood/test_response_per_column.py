"""A response for each column: the law is a product of tables, and what is inferred is what was published by others."""

import itertools
import math
from fractions import Fraction

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats
from scipy.special import logsumexp

import confide as cf
from confide.mechanism.keeping import share_of_columns
from confide.releasing.plan import plan_of

BITS = cf.RandomizedResponse(cf.PureDP(2 * math.log(3)), columns=(2, 2))
#: counts of the four cells that were published (FIELD), and what is known of the shares with every bit kept by ¾
PUBLISHED = [104, 120, 74, 102]
MEANS, SDS = [0.2823, 0.3357, 0.1095, 0.2724], [0.0597, 0.0642, 0.0522, 0.0593]
ONE = np.array([[0.75, 0.25], [0.25, 0.75]])


def four_shares(n):
    return cf.Channel(cf.Each("x", bounds=(0, 3)), BITS, n=n)


def on_the_simplex(table, counts, m=120):
    """Mean and sd of shares with a flat prior, at the middles of cells of the simplex."""
    p = (np.moveaxis(np.indices((m, m, m)), 0, -1).reshape(-1, 3) + 0.5) / m
    p = np.column_stack([p, 1 - p.sum(axis=1)])[p.sum(axis=1) < 1]
    log_p = np.log(p @ table) @ counts
    w = np.exp(log_p - log_p.max())
    mean = w @ p / w.sum()
    return mean, np.sqrt(w @ (p - mean) ** 2 / w.sum())


@pytest.mark.parametrize("answers", ["by person", "counted"])
def test_two_bits_that_were_published(answers):
    """Not one response on four categories, which says .27 .39 .07 .26."""
    channel = four_shares(400)
    release = cf.Release.counted(channel, PUBLISHED)
    if answers == "by person":
        shuffled = np.random.default_rng(0).permutation(np.repeat(np.arange(4.0), PUBLISHED))
        release = cf.Release(channel, shuffled)
    prior = {"probabilities": dist.Dirichlet(np.ones(4))}
    found = cf.infer(cf.populations.categorical(4), release, prior, key=1)
    # chains of some thousand effective draws
    assert found.mean["probabilities"] == pytest.approx(MEANS, abs=0.005)
    assert found.sd["probabilities"] == pytest.approx(SDS, abs=0.004)


def test_the_likelihood_of_two_bits_gives_what_was_published_exactly():
    mean, sd = on_the_simplex(np.kron(ONE, ONE), np.array(PUBLISHED, dtype=float))
    assert mean == pytest.approx(MEANS, abs=1.5e-4)
    assert sd == pytest.approx(SDS, abs=1.5e-4)
    model = cf.Model(cf.populations.categorical(4), four_shares(400))
    thetas = np.random.default_rng(1).dirichlet(np.ones(4), 50)
    found = model.log_likelihood(thetas, cf.Release.counted(model.channel, PUBLISHED).value)
    assert found == pytest.approx(np.log(thetas @ np.kron(ONE, ONE)) @ PUBLISHED, rel=1e-13)
    with jax.enable_x64(True):
        inside = model.distribution(thetas[0]).log_prob(cf.Release.counted(model.channel, PUBLISHED).value)
    assert float(inside) == pytest.approx(found[0], rel=1e-12)


def test_columns_of_different_sizes_and_guarantees():
    """(2, 3, 2) answers: the whole table against a product of three, and the promise from the table itself."""
    sizes = (2, 3, 2)
    for privacy in (cf.PureDP(2.0), cf.ApproxDP(2.0, 1e-3), cf.GDP(1.5), cf.ZCDP(0.5)):
        mechanism = cf.RandomizedResponse(privacy, columns=sizes)
        law = cf.Channel(cf.Each("x", bounds=(0, 11)), mechanism, n=3).law
        tables = [np.where(np.eye(k) > 0, keep, (1 - keep) / (k - 1)) for k, keep in zip(sizes, law.keep, strict=True)]
        whole = np.kron(np.kron(*tables[:2]), tables[2])
        with jax.enable_x64(True):
            levels = np.arange(12.0)
            assert np.exp(law.log_prob(levels[None], levels[:, None])) == pytest.approx(whole, rel=1e-13)
            assert law.answered(np.eye(12)) == pytest.approx(whole, rel=1e-13)
        for a, b in itertools.permutations(range(12), 2):
            p, q = whole[a], whole[b]
            if isinstance(privacy, cf.PureDP):
                assert np.log(p / q).max() <= privacy.epsilon + 1e-12
            elif isinstance(privacy, cf.ApproxDP):
                assert np.maximum(p - np.exp(privacy.epsilon) * q, 0).sum() <= privacy.delta + 1e-12
            elif isinstance(privacy, cf.GDP):
                order = np.argsort(q / p)
                power, level = np.cumsum(p[order])[:-1], np.cumsum(q[order])[:-1]
                assert np.max(stats.norm.ppf(power) - stats.norm.ppf(level)) <= privacy.mu + 1e-9
            else:
                alpha = 1 + np.logspace(-2, 2, 60)[:, None]
                divergence = logsumexp(alpha * np.log(p) + (1 - alpha) * np.log(q), axis=1) / (alpha[:, 0] - 1)
                assert np.all(divergence <= privacy.rho * alpha[:, 0] * (1 + 1e-9))
    assert Fraction(share_of_columns(cf.PureDP(1.0), 3).epsilon) * 3 <= 1


def test_rows_are_answered_column_by_column():
    """A continuous and a discrete column that depends on it, against quadrature on a line of quantiles."""
    rows = cf.Population(
        {
            "age": lambda mean: dist.Normal(mean, 10.0),
            "sick": lambda age, slope: dist.Bernoulli(logits=slope * (age - 50.0)),
        },
        {"mean": dist.constraints.real, "slope": dist.constraints.real},
    )
    each = cf.Each("2 * (age > 60) + (sick > 0.5)", bounds={"age": (0, 120), "sick": (0, 1)})
    model = cf.Model(rows, cf.Channel(each, BITS, n=6))
    age = 52.0 + 10.0 * stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    sick = 1 / (1 + np.exp(-0.08 * (age - 50)))
    p = np.array([np.mean((age <= 60) * (1 - sick)), np.mean((age <= 60) * sick),
                  np.mean((age > 60) * (1 - sick)), np.mean((age > 60) * sick)])  # fmt: skip
    expected = np.log(p @ np.kron(ONE, ONE))[[0, 1, 1, 2, 3, 3]].sum()
    theta = [52.0, 0.08]
    assert model.log_likelihood(theta, [0, 1, 1, 2, 3, 3.0]) == pytest.approx(expected, abs=1e-5)
    # the information is that of six scores, by differences of the log-likelihoods of one answer
    one = cf.Model(rows, cf.Channel(each, BITS, n=1))
    h = np.diag([1e-3, 1e-5])
    up, down = (one.log_likelihood(np.asarray(theta) + sign * h, np.arange(4.0)[:, None]) for sign in (1, -1))
    scores = (up - down) / (2 * np.diag(h)[:, None])
    mass = np.exp(one.log_likelihood(theta, np.arange(4.0)[:, None]))
    matrix = 6 * (scores * mass) @ scores.T
    assert cf.information(model, theta).matrix == pytest.approx(matrix, rel=1e-5, abs=1e-9)


def test_what_is_simulated_and_what_is_released_follow_the_product():
    channel = cf.Channel(cf.Each("x", bounds=(0, 5)), cf.RandomizedResponse(cf.PureDP(2.0), columns=(2, 3)), n=40_000)
    law = channel.law
    with jax.enable_x64(True):
        mass = np.asarray(law.answered(np.eye(6)[4]))
    wrong = np.asarray([*mass[:-2], mass[-1], mass[-2]])
    simulated = channel.simulate(key=3, records=np.full(40_000, 4.0)).astype(int)
    released = plan_of(channel).publish(np.full(40_000, 4))
    for drawn in (simulated, released):
        counts = np.bincount(drawn, minlength=6)
        assert stats.chisquare(counts, 40_000 * mass).pvalue > 1e-6
        assert stats.chisquare(counts, 40_000 * wrong).pvalue < 1e-6


def test_a_posterior_of_a_share_of_one_bit_ignores_the_other():
    """With counts of one bit, a beta posterior on τ cut to (¼, ¾): the other bit says nothing of it."""
    rows = cf.populations.independent(a=cf.populations.bernoulli(), b=cf.populations.bernoulli())
    each = cf.Each("2 * (a > 0.5) + (b > 0.5)", bounds={"a": (0, 1), "b": (0, 1)})
    model = cf.Model(rows, cf.Channel(each, BITS, n=40))
    theta = np.linspace(0.01, 0.99, 9)
    found = model.log_likelihood(np.column_stack([theta, np.full(9, 0.3)]), np.repeat(np.arange(4.0), [10, 8, 15, 7]))
    tau = 0.25 + 0.5 * theta
    assert np.ptp(found - (18 * np.log1p(-tau) + 22 * np.log(tau))) < 1e-11


@pytest.mark.parametrize("columns", [(2,), (2, 1), 4, "22", (2, 2.5), (True, 2), (2,) * 20_000, (2, 10**9)])
def test_columns_that_are_none(columns):
    with pytest.raises(cf.InvalidArgument, match="columns"):
        cf.RandomizedResponse(cf.PureDP(1.0), columns=columns)


def test_what_does_not_fit_is_refused():
    with pytest.raises(cf.IncompatibleError, match="6 combinations"):
        cf.Channel(cf.Each("x", bounds=(0, 3)), cf.RandomizedResponse(cf.PureDP(1.0), columns=(2, 3)), n=4)
    for wrong in ([1, 2, 3], [1, 1, 1, 0.5], [5, -1, 0, 0], ["a"] * 4, [1, 1, 1, 2]):
        with pytest.raises(cf.InvalidArgument, match="counts"):
            cf.Release.counted(four_shares(4), wrong)
    with pytest.raises(cf.InvalidArgument, match="does not publish"):
        cf.Release.counted(cf.Channel(cf.Each("x", bounds=(0, 3)), cf.Laplace(cf.PureDP(1.0)), n=4), [1, 1, 1, 1])
