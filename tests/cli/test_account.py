"""`confide account`: the guarantee of a batch that is fixed in advance."""

import jsonschema
import pytest

from confide_cli.schemas import schema_of


def test_a_batch_in_words_and_as_json(confide, result):
    code, printed, _ = confide("account", "100*pure:0.1", "--delta", "1e-6")
    assert code == 0
    assert "(4.77457, 1e-06)-differential privacy" in printed
    assert "(5.21908, 1e-06)-differential privacy" in printed
    found = result("account", "40*pure:0.1", "gdp:0.2", "approx:0.1,1e-9")
    jsonschema.Draft202012Validator(schema_of("account")).validate(found)
    assert found["releases"] == 42
    assert found["guarantee"]["epsilon"] < found["adaptive"]["epsilon"]


@pytest.mark.parametrize("wrong", ["x*pure:1", "0*pure:1", "99999999999*pure:1", "-1*pure:1", "2*", "zcdp:1", "pure:0"])
def test_a_wrong_batch_is_one_line(confide, wrong):
    code, printed, said = confide("account", wrong)
    assert code in (1, 2)
    assert printed == ""
    assert said.count("\n") == 1
