"""`demo`: the main job in miniature, on simulated records."""

from __future__ import annotations

import numpy as np

import confide as cf
from confide_cli.show import say


def demo() -> None:
    """Describe channels, simulate one release, and say what it tells."""
    population = cf.populations.normal_variance()
    truth = 2.0
    candidates = {
        "abs(x) clipped at 10": ("abs(x)", 10.0),
        "x**2 clipped at 10": ("x**2", 10.0),
        "x**2 clipped at 3.2": ("x**2", 3.2),
    }
    say(f"100 records from a normal population with mean 0; its variance is unknown (in truth, {truth:g}).\n")
    say("What should be published, at epsilon = 1?")
    models = {}
    for name, (expression, bound) in candidates.items():
        channel = cf.Channel(cf.Mean(expression, bounds=(-bound, bound)), cf.Laplace(cf.PureDP(1.0)), n=100)
        models[name] = cf.Model(population, channel)
        information = cf.information(models[name], truth)
        found, share = information.matrix[0, 0], np.asarray(information.efficiency)
        say(f"  {name:22s} Fisher information {found:7.3f}   efficiency {float(share):.0%}")
    model = models["x**2 clipped at 3.2"]
    say(f"\n{model.channel}\n")
    value = float(model.simulate(key=1, theta=truth))
    say(f"A simulated release: {value:.4f}\n")
    import numpyro.distributions as dist

    posterior = cf.infer(population, cf.Release(model.channel, value), {"variance": dist.Uniform(0.05, 30.0)}, key=0)
    say("What it says, noise and clipping included (prior: flat on (0.05, 30)):")
    say(str(posterior))
