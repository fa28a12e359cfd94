"""Priors in words: `variance ~ InverseGamma(2, 2)`, any numpyro distribution by name, with numbers."""

from __future__ import annotations

from typing import Any

from confide.errors import InvalidArgument
from confide_cli.words import call, choice

#: of the hundred or so that numpyro has
_COMMON = "Normal, LogNormal, HalfNormal, Gamma, InverseGamma, Beta, Uniform or another distribution of numpyro"


def read_prior(given: Any) -> dict[str, Any]:
    """A distribution for each parameter, from texts, or from a table of texts by parameter.

    >>> read_prior("variance ~ InverseGamma(2, 2)")["variance"]
    <numpyro.distributions...InverseGamma object ...>
    """
    if isinstance(given, dict):
        given = [f"{name} ~ {text}" for name, text in given.items()]
    lines = [given] if isinstance(given, str) else list(given)
    prior: dict[str, Any] = {}
    for line in lines:
        name, tilde, text = str(line).partition("~")
        if not tilde or not name.strip():
            raise InvalidArgument("--prior", line, "names no parameter", 'write "variance ~ InverseGamma(2, 2)"')
        if name.strip() in prior:
            raise InvalidArgument("--prior", name.strip(), "is given twice", "give one prior for each parameter")
        prior[name.strip()] = distribution(text.strip())
    return prior


def example(part: Any) -> str:
    """A prior for one parameter of a population, as it would be written: it fits the space, and nothing else.

    >>> import confide as cf
    >>> [example(part) for part in cf.populations.normal().space]
    ['mean ~ Normal(0, 10)', 'variance ~ LogNormal(0, 1)']
    """
    import numpy as np
    from numpyro.distributions.constraints import simplex

    if part.constraint is simplex:
        return f"{part.name} ~ Dirichlet([{', '.join(['1'] * part.size)}])"
    if len(part.shape) > 1:
        return f"{part.name} ~ Wishart(…)"
    allowed = [bool(part.constraint(np.full(part.shape, value)).all()) for value in (-1.0, 2.0)]
    law = "Normal(0, 10)" if allowed[0] else "LogNormal(0, 1)" if allowed[1] else "Beta(1, 1)"
    return f"{part.name} ~ {law}"


def distribution(text: str) -> Any:
    """A numpyro distribution from its name and numbers."""
    import jax
    import numpy as np
    import numpyro.distributions as dist

    name, values, named = call("--prior", text)
    known = [each for each in dist.__all__ if _is_distribution(getattr(dist, each, None), dist)]
    build = getattr(dist, choice("--prior", name, known, told=_COMMON))

    def plain(value: Any) -> Any:
        return np.asarray(value, dtype=np.float64) if isinstance(value, list) else value

    try:
        with jax.enable_x64(True):
            given = [plain(value) for value in values]
            options = {key: plain(value) for key, value in named.items()}
            build(*given, **options, validate_args=True)
            # once checked, a prior that keeps checking would warn of every θ at the edge of its support
            made = build(*given, **options)
    except Exception as error:  # whatever a constructor of numpyro says about its arguments
        problem = "has parameters that are not allowed" if isinstance(error, ValueError) else "has the wrong arguments"
        raise InvalidArgument("--prior", text, problem, f"see numpyro's {name}") from None
    if not isinstance(made, dist.Distribution):
        raise InvalidArgument("--prior", text, "is no distribution over one parameter", "choose another")
    return made


def _is_distribution(value: Any, dist: Any) -> bool:
    return isinstance(value, type) and issubclass(value, dist.Distribution) and value is not dist.Distribution
