"""`estimate`, `require`, and what `infer` is asked beside its interval: the numbers are those of the library."""

import jsonschema
import numpyro.distributions as dist
import pytest

import confide as cf
from confide_cli.schemas import schema_of

SHARE = ("--population", "bernoulli", "--statistic", "mean", "--bounds", "0", "1", "--n", "200")
LAPLACE, PRIOR = ("--privacy", "pure:1"), ("--prior", "probability ~ Beta(1, 1)")
CHANNEL = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0)), n=200)


def valid(name, found):
    jsonschema.Draft202012Validator(schema_of(name)).validate(found)


@pytest.fixture
def other(tmp_path):
    cf.Release(CHANNEL, 0.24).save(tmp_path / "men.json")
    return "men.json"


def test_estimate(confide, result, other):
    asked = ("estimate", "--value", "0.31", *SHARE, *LAPLACE, "--hypothesis", "probability = 0.25", "--against", other)
    found = result(*asked)
    valid("estimate", found)
    wanted = cf.estimate(cf.populations.bernoulli(), cf.Release(CHANNEL, 0.31))
    assert found["parameters"]["probability"]["set"] == [list(wanted.set["probability"][0])]
    assert found["tests"][0]["p_value"] == wanted.p_value(0.25)
    apart = cf.contrast(wanted, cf.estimate(cf.populations.bernoulli(), cf.Release(CHANNEL, 0.24)))
    assert found["contrast"]["set"] == [list(apart.interval)]
    code, printed, said = confide(*asked)
    assert (code, said) == (0, "")
    assert printed.startswith(f"{wanted}\np-value of probability = 0.25: ")
    assert str(apart) in printed


def test_estimate_by_em(result):
    asked = ("estimate", "--value", "0.31", *SHARE, *LAPLACE, "--method", "wald", "--maximize", "em", "--level", "0.9")
    found = result(*asked)
    valid("estimate", found)
    assert (found["level"], found["method"]) == (0.9, "wald")
    assert found["parameters"]["probability"]["estimate"] == pytest.approx(0.31, abs=1e-3)


def test_require(result):
    asked = ("require", *SHARE, "--mechanism", "gaussian", "--sd", "0.05", *PRIOR)
    found = result(*asked)
    valid("require", found)
    prior = {"probability": dist.Beta(1.0, 1.0)}
    wanted = cf.require(cf.populations.bernoulli(), cf.Mean("x", (0, 1)), sd=0.05, prior=prior, n=200)
    assert found["privacy"] == {"kind": "ZCDP", "rho": wanted.privacy.rho}
    assert found["sd"]["probability"] <= 0.05


def test_what_else_a_posterior_is_asked(confide, result, other, tmp_path):
    claim = ("--claim", "probability > 0.25", "--evidence")
    asked = ("infer", "--value", "0.31", *SHARE, *LAPLACE, *PRIOR, *claim, "--against", other)
    found = result(*asked)
    valid("infer", found)
    prior = {"probability": dist.Beta(1.0, 1.0)}
    women, men = (cf.infer(cf.populations.bernoulli(), cf.Release(CHANNEL, y), prior) for y in (0.31, 0.24))
    assert found["claims"] == {"probability > 0.25": women.probability("probability > 0.25")}
    assert found["log_evidence"] == women.log_evidence
    assert found["contrast"]["larger"] == cf.contrast(women, men).probability("difference > 0")
    assert found["plan"] is None
    code, printed, said = confide(*asked, "--plan", "--report", "page.html")
    assert (code, said) == (0, "")
    assert "The probability of probability > 0.25 is 0." in printed
    (sentence,) = [line for line in printed.splitlines() if line.startswith("To halve the interval of probability")]
    assert "instead of 200 under 1-differential privacy" in sentence
    assert sentence in (tmp_path / "page.html").read_text()
