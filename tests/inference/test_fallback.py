"""What stands in where a route gives up is decided anew for each posterior."""

from dataclasses import dataclass, field

import numpy as np
import numpyro.distributions as dist

import confide as cf


@dataclass(frozen=True)
class Recording(cf.Spectral):
    """The spectral route, which notes the θ that it is asked for, and may give up at the first of them."""

    asked: list = field(default_factory=list, compare=False)
    gives_up: list = field(default_factory=list, compare=False)

    def log_likelihood(self, model, thetas, values):
        self.asked.append(np.array(thetas))
        if self.gives_up:
            self.gives_up.pop()
            raise cf.AccuracyError("asked for once too often")
        return super().log_likelihood(model, thetas, values)


def test_an_answer_does_not_depend_on_what_was_asked_before():
    channel = cf.Channel(cf.Mean("abs(x)", bounds=(-3, 3)), cf.Laplace(scale=0.5), n=50)
    release, prior = cf.Release(channel, 0.05), {"variance": dist.InverseGamma(0.5, 0.001)}

    def asked(**given):
        route = Recording(**given)
        posterior = cf.infer(cf.populations.normal_variance(), release, prior, route=route, key=0, draws=10)
        return np.concatenate(route.asked), float(posterior.mean), float(posterior.sd)

    first = asked()
    asked(gives_up=[True])
    again = asked()
    np.testing.assert_array_equal(first[0], again[0])
    assert first[1:] == again[1:]


def test_many_posteriors_remember_nothing_either():
    from confide.inference.batch import many_posteriors

    channel = cf.Channel(cf.Mean("abs(x)", bounds=(-3, 3)), cf.Laplace(scale=0.5), n=60)
    model = cf.Model(cf.populations.normal_variance(), channel)

    def asked(**given):
        route = Recording(**given)
        many_posteriors([model], [[0.05, 0.4]], {"variance": dist.InverseGamma(0.5, 0.001)}, route=route)
        return np.concatenate(route.asked)

    first = asked()
    asked(gives_up=[True])
    np.testing.assert_array_equal(first, asked())
