"""Wrong command lines: one helpful line, exit code 1 or 2, never a traceback; and priors that try to run something."""

import pytest

import confide as cf
from confide_cli.priors import distribution, read_prior
from confide_cli.words import call, read_theta

GOOD = {
    "--population": ["normal_variance"], "--statistic": ["mean abs(x)"], "--bounds": ["-10", "10"],
    "--privacy": ["pure:1"], "--n": ["100"],
}  # fmt: skip


def line(command, *extra, **changed):
    """A command line that would work, with some options changed or (None) left out."""
    options = GOOD | {f"--{name}": value for name, value in changed.items()}
    return [command, *extra, *(word for name, value in options.items() if value is not None for word in (name, *value))]


PRIOR = {"prior": ["variance ~ InverseGamma(2, 2)"]}
RELEASE = ("release", "people.csv", "--column", "x")
ROWS = (
    "release",
    "people.csv",
    "--statistic",
    "mean age, ward == 0",
    "--privacy",
    "zcdp:0.1",
    "--mechanism",
    "gaussian",
    "--n",
    "100",
)
TABLE = (*ROWS, "--bounds", "age=18:90", "--category", "ward=a,b")
WRONG = [
    # what cannot be understood at all
    (["compar"], 2, "compar"),
    (["information", "--bouds", "1", "2"], 2, "--bounds"),
    (["information", "--n"], 2, "--n"),
    (line("information", "--theta", "2", n=["many"]), 2, "--n"),
    (line("information", "--theta", "2", n=["0"]), 2, "--n"),
    (line("information", "--theta", "2", bounds=["-10"]), 2, "--bounds"),
    (["release"], 2, "data"),
    (["ledger"], 2, "LEDGER"),
    (line("information", "--theta", "2", population=None), 2, "--population is missing"),
    (line("information", "--theta", "2", statistic=None), 2, "--statistic is missing"),
    (line("information", "--theta", "2", bounds=None), 2, "--bounds is missing"),
    (line("information", "--theta", "2", n=None), 2, "--n is missing"),
    (line("information"), 2, "--theta is missing"),
    (line("compare", "--statistic", "mean x"), 2, "either --theta"),
    (line("compare", "--theta", "2", "--statistic", "mean x", **PRIOR), 2, "either --theta"),
    (["compare", "nowhere.toml"], 2, "nowhere.toml"),
    (["compare", "broken.toml"], 2, "not TOML"),
    (["compare", "unknown.toml"], 2, "did you mean population?"),
    (["compare", "typed.toml", "--theta", "2"], 1, "is no number of records"),
    (["infer", *line("", **PRIOR)[1:]], 2, "--value"),
    (["infer", "release.json", "--population", "normal_variance"], 2, "--prior is missing"),
    (["infer", "release.json", "--population", "independent(a=normal, b=bernoulli)"], 2,
     r"a_variance ~ LogNormal\(0, 1\). --prior .b_probability ~ Beta\(1, 1\)"),
    (["optimize", "--population", "bernoulli", "--n", "9", "--theta", "0.5"], 2, "--privacy is missing"),
    ([*RELEASE, "--dataset", "people", *line("", population=None)[1:]], 2, "--ledger"),
    (["ledger", "budget.db", "--budget", "pure:1"], 2, "name of a data set"),
    # words that mean nothing
    (line("information", "--theta", "2", population=["normal_varianc"]), 1, "did you mean normal_variance?"),
    (line("information", "--theta", "2", population=["__import__('os')"]), 1, "--population"),
    (line("information", "--theta", "2", population=["normal_variance(spread=2)"]), 1, "does not take"),
    (line("information", "--theta", "2", statistic=["avg x"]), 1, "--statistic"),
    (line("information", "--theta", "2", statistic=["mean sin(x)"]), 1, "sin"),
    (line("information", "--theta", "2", statistic=["mean log(x)"]), 1, "log"),
    (line("information", "--theta", "2", statistic=["quantile 1.5 x"]), 1, "1.5"),
    (line("information", "--theta", "2", bounds=["10", "-10"]), 1, "bounds"),
    (line("information", "--theta", "2", bounds=["nan", "1"]), 1, "bounds"),
    (line("information", "--theta", "2", privacy=["pure:-1"]), 1, "epsilon"),
    (line("information", "--theta", "2", privacy=["pure"]), 1, "--privacy"),
    (line("information", "--theta", "2", privacy=["puer:1"]), 1, "did you mean pure?"),
    (line("information", "--theta", "2", privacy=["approx:1"]), 1, "approx:1,1e-6"),
    (line("information", "--theta", "2", privacy=None), 1, "--privacy"),
    (line("information", "--theta", "2", mechanism=["laplac"]), 1, "did you mean laplace?"),
    (line("information", "--theta", "2", mechanism=["laplace(3)"]), 1, "--mechanism"),
    (line("information", "--theta", "2", mechanism=["laplace(color=3)"]), 1, "does not take"),
    (line("information", "--theta", "2", mechanism=["randomized_response"]), 1, "randomized_response"),
    (line("information", "--theta", "-2"), 1, "variance"),
    (line("information", "--theta", "two"), 1, "--theta"),
    (line("information", "--theta", "1:2"), 1, "from:to:count"),
    (line("information", "--theta", "1:2:1000000000"), 1, "from:to:count"),
    (line("information", "--theta", "2", method=["magic"]), 1, "magic"),
    (line("compare", "--theta", "2"), 2, "at least two"),
    (line("compare", "--theta", "2", "--statistic", "mean x", criterion=["beauty"]), 1, "beauty"),
    (line("compare", "--theta", "2", "--statistic", "mean x**2 with gaussian"), 1, "guarantee|Gaussian|epsilon|privacy"),
    # files, data and budgets
    (["infer", "nothing.json", "--population", "normal_variance", "--prior", "variance ~ InverseGamma(2, 2)"], 1, "nothing.json"),
    (["infer", "broken.json", "--population", "normal_variance", "--prior", "variance ~ InverseGamma(2, 2)"], 1, "JSON"),
    (["infer", "--value", "1", *line("", prior=["width ~ InverseGamma(2, 2)"])[1:]], 1, "width"),
    (["infer", "--value", "1", *line("", prior=["variance ~ InverseGama(2, 2)"])[1:]], 1, "did you mean InverseGamma?"),
    (["infer", "--value", "1", *line("", prior=["variance ~ InverseGamma(-2, 2)"])[1:]], 1, "not allowed"),
    (["infer", "--value", "1", *line("", prior=["variance = 3"])[1:]], 1, "names no parameter"),
    (["infer", "--value", "1", *line("", prior=["variance ~ eval('1')"])[1:]], 1, "numbers"),
    (["infer", "--value", "1", "--value", "2", *line("", **PRIOR)[1:]], 1, "value"),
    (["infer", "--value", "1", "--probability", "2", *line("", **PRIOR)[1:]], 2, "--probability"),
    (["infer", "--value", "1", "--claim", "width > 2", *line("", **PRIOR)[1:]], 1, "width"),
    (["infer", "--value", "1", "--claim", "variance", *line("", **PRIOR)[1:]], 1, "claim"),
    (["infer", "--value", "1", "--against", "nothing.json", *line("", **PRIOR)[1:]], 1, "nothing.json"),
    (["infer", "--value", "1", "--plan", "--mechanism", "laplace(scale=0.1)", *line("", privacy=None, **PRIOR)[1:]], 1, "calibrated"),
    (["estimate", *line("")[1:]], 2, "--value"),
    (["estimate", "nothing.json", "--population", "normal_variance"], 1, "nothing.json"),
    (["estimate", "--value", "1", "--method", "guess", *line("")[1:]], 1, "--method"),
    (["estimate", "--value", "1", "--maximize", "guess", *line("")[1:]], 1, "--maximize"),
    (["estimate", "--value", "1", "--level", "95", *line("")[1:]], 1, "--level"),
    (["estimate", "--value", "1", "--hypothesis", "width = 1", *line("")[1:]], 1, "--hypothesis"),
    (["estimate", "--value", "1", "--hypothesis", "variance = two", *line("")[1:]], 1, "--hypothesis"),
    (["estimate", "--value", "1", "--method", "wald", "--hypothesis", "variance = -2", *line("")[1:]], 1, "variance"),
    (["estimate", "--value", "1", *line("", population=["normal"])[1:]], 1, "2 parameters"),
    (["require", *line("", privacy=None, **PRIOR)[1:]], 2, "--sd is missing"),
    (["require", "--sd", "0.1", *line("", **PRIOR)[1:]], 2, "either --n"),
    (["require", "--sd", "0.1", *line("", privacy=None, n=None, **PRIOR)[1:]], 2, "either --n"),
    (["require", "--sd", "0.1", *line("", privacy=None)[1:]], 2, "--prior is missing"),
    (["require", "--sd", "-0.1", *line("", privacy=None, **PRIOR)[1:]], 1, "--sd"),
    (["require", "--sd", "width=0.1", *line("", privacy=None, **PRIOR)[1:]], 1, "--sd"),
    (["require", "--sd", "0.1", "--sd", "0.2", *line("", privacy=None, **PRIOR)[1:]], 1, "--sd"),
    (["require", "--sd", "0.1", "--unit", "approx", *line("", privacy=None, **PRIOR)[1:]], 1, "--unit"),
    (["require", "--sd", "0.1", "--unit", "pure", *line("", n=None, **PRIOR)[1:]], 2, "--unit"),
    (["release", "nobody.csv", "--column", "x", *line("", population=None)[1:]], 1, "nobody.csv"),
    ([*RELEASE[:3], "y", *line("", population=None)[1:]], 1, "column"),
    ([*RELEASE, *line("", population=None, n=["99"])[1:]], 1, "n = 99"),
    ([*RELEASE, "--missing", "often", *line("", population=None)[1:]], 1, "--missing"),
    ([*RELEASE, "--part", "rows:5:1", *line("", population=None)[1:]], 1, "part"),
    ([*RELEASE, "--part", "rows:all", *line("", population=None)[1:]], 1, "rows:0:1000"),
    ([*RELEASE, "--mechanism", "noiseless", *line("", population=None)[1:]], 1, "protects nobody"),
    ([*RELEASE, "--ledger", "typo.db", "--dataset", "people", *line("", population=None)[1:]], 1, "does not exist"),
    ([*RELEASE, "--ledger", "budget.db", "--dataset", "folk", *line("", population=None)[1:]], 1, "no data set"),
    ([*RELEASE, "--ledger", "budget.db", "--dataset", "people", *line("", population=None, privacy=["pure:9"])[1:]], 1, "left"),
    ([*RELEASE, "--output", "no/folder/release.json", *line("", population=None)[1:]], 1, "cannot be written"),
    (["ledger", "typo.db"], 1, "does not exist"),
    (["ledger", "broken.json"], 1, "no ledger"),
    (["ledger", "budget.db", "people", "--budget", "pure:2"], 1, "never changed"),
    (["schema", "everything"], 1, "schema"),
    (["optimize", "--population", "bernoulli", "--privacy", "pure:1", "--n", "9", "--theta", "0.5", "--family", "clips"], 1, "did you mean clip?"),
    (["demo", "--folder", "."], 2, "does not exist"),
    # rows, text and groups
    ([*ROWS, "--bounds", "age=18"], 1, "two ends"),
    ([*ROWS, "--bounds", "age=18:ninety"], 1, "ninety"),
    ([*ROWS, "--bounds", "age=18:90", "--bounds", "age=18:90"], 1, "twice"),
    ([*ROWS, "--bounds", "age=90:18"], 1, "bounds"),
    ([*ROWS, "--bounds", "18:90"], 2, "--bounds"),
    ([*ROWS, "--bounds", "age=18:90"], 1, "ward"),
    ([*ROWS, "--bounds", "age=18:90", "--category", "ward"], 1, "which column"),
    ([*ROWS, "--bounds", "age=18:90", "--category", "ward=a,a"], 1, "more than once"),
    ([*ROWS, "--bounds", "age=18:90", "--category", "ward=a,b", "--category", "ward=c"], 1, "twice"),
    ([*TABLE, "--missing", "cost=0"], 1, "no column"),
    ([*TABLE, "--missing", "age=20,age=30"], 1, "twice"),
    ([*TABLE, "--missing", "age=often"], 1, "--missing"),
    ([*TABLE, "--missing", "20"], 1, "of which column"),
    ([*TABLE, "--column", "age=id,ward=id"], 1, "two columns"),
    ([*TABLE], 1, "not a column"),
    ([*TABLE, "--by", "sex"], 2, "--groups"),
    ([*TABLE, "--groups", "f=3"], 2, "--by"),
    ([*TABLE, "--by", "sex", "--groups", "f=60,f=40"], 1, "twice"),
    ([*TABLE, "--by", "sex", "--groups", "f=60,m"], 1, "which column"),
    ([*TABLE, "--by", "sex", "--groups", "f=60,m=-40"], 1, "no number of records"),
    ([*TABLE, "--by", "sex", "--groups", "f=60,m=41"], 1, "101 records in all"),
    ([*TABLE, "--by", "sex", "--groups", "f,m"], 1, "how many records"),
    # pages that cannot be written
    (line("compare", "--theta", "2", "--statistic", "mean x", "--report", "no/folder/page.html"), 1, "no such folder"),
    (line("compare", "--theta", "2", "--statistic", "mean x", "--report", "."), 1, "--report = '.' is a folder"),
    ([*line("compare", "--theta", "2", "--statistic", "mean x"), "--report"], 2, "--report"),
    (line("information", "--theta", "2", "--report", "page.html"), 2, "--report"),
    (["optimize", "--population", "bernoulli", "--privacy", "pure:1", "--n", "9", "--theta", "0.5", "--report", "page.pdf"], 1, "web page"),
    (["optimize", "--population", "bernoulli", "--privacy", "pure:1", "--n", "9", "--theta", "0.5", "--report", ""], 1, "--report"),
    (["infer", "--value", "1", "--report", "people.csv", *line("", **PRIOR)[1:]], 1, "report.html"),
    (["infer", "--value", "1", "--report", "people.csv/page.html", *line("", **PRIOR)[1:]], 1, "no such folder"),
    ([*RELEASE, "--report", "no/folder/page.html", *line("", population=None)[1:]], 1, "no such folder"),
    ([*RELEASE, "--report", "page.html", "--output", "no/folder/release.json", *line("", population=None)[1:]], 1, "--output"),
]  # fmt: skip


@pytest.fixture
def scene(tmp_path, people):
    """The files that wrong command lines name."""
    (tmp_path / "broken.toml").write_text("population = = 3")
    (tmp_path / "unknown.toml").write_text('popluation = "normal"')
    study = (
        'population = "normal_variance"\nstatistic = "mean abs(x)"\nbounds = [-10, 10]\nmechanism = "laplace pure:1"'
    )
    (tmp_path / "typed.toml").write_text(study + '\nn = "many"')
    (tmp_path / "broken.json").write_text("{ not a release, and no database either " * 20)
    cf.Ledger(tmp_path / "budget.db").open("people", budget=cf.PureDP(1.0))


@pytest.mark.parametrize(("arguments", "code", "words"), WRONG, ids=range(len(WRONG)))
def test_wrong_command_lines_get_one_helpful_line(arguments, code, words, confide, scene):
    import re

    found, printed, said = confide(*arguments)
    assert found == code, said
    assert printed == ""
    assert said.startswith("confide: ")
    assert said.count("\n") == 1
    assert "Traceback" not in said
    assert re.search(words, said), said
    assert len(said) < 600


def test_a_page_that_cannot_be_written_costs_nothing(confide, scene):
    asked = [*RELEASE, "--ledger", "budget.db", "--dataset", "people", *line("", population=None)[1:]]
    assert confide(*asked, "--report", "no/where.html")[0] == 1
    assert cf.Ledger("budget.db").spent("people") is None


def test_there_are_enough_of_them():
    assert len(WRONG) >= 40


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('true')", "Normal(x, 1)", "Normal(0, 1).sample", "Normal(**{'loc': 0})", "Normal(*[0, 1])", "lambda: 1",
     "Normal(True, 1)", "Normal('0', 1)", "Normal(1e999, 1)", "Normal(0, 1" + ")" * 2, "Normal(" * 3000, "-" * 5000 + "1", "Normal(0 if 1 else 2, 1)",
     "[Normal(0, 1)]", "Normal(0, 1) + 1", "", "Normal\x00", "Distribution(1)", "MixtureGeneral(1, [1, 2])", "Normal(loc=0, loc=1)", "Normal()" * 2,
     "biject_to(1)", "Normal(1, 2, 3, 4, 5, 6)", "Gamma(concentration=-1, rate=1)", "Normal([[1, [2]], 3], 1)"],
)  # fmt: skip
def test_priors_are_read_and_never_run(text):
    with pytest.raises(cf.InvalidArgument, match="--prior"):
        distribution(text)


def test_priors_of_several_parameters():
    import numpyro.distributions as dist

    prior = read_prior({"mean": "Normal(0, scale=2.5)", "variance": "InverseGamma(2, 2)"})
    assert isinstance(prior["mean"], dist.Normal)
    assert float(prior["mean"].scale) == 2.5
    assert read_prior("p ~ Dirichlet([1, 1, 1])")["p"].event_shape == (3,)
    with pytest.raises(cf.InvalidArgument, match="twice"):
        read_prior(["a ~ Normal(0, 1)", "a ~ Normal(0, 1)"])
    assert call("--prior", "Normal(-1, -2.5)") == ("Normal", [-1.0, -2.5], {})


def test_theta_in_words():
    assert read_theta("2", 1) == 2.0
    assert read_theta("0:1:3", 1).tolist() == [0.0, 0.5, 1.0]
    assert read_theta(["1,2", "3,4"], 2).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert read_theta([1.0, 2.0], 1).tolist() == [1.0, 2.0]
    with pytest.raises(cf.InvalidArgument, match="2 numbers"):
        read_theta("1,2,3", 2)


def test_an_unexpected_error_is_one_line_that_quotes_nothing(confide, monkeypatch):
    import confide_cli.choose

    def fail(*_):
        raise RuntimeError("Rosebud")

    monkeypatch.setattr(confide_cli.choose, "information", fail)
    code, printed, said = confide(*line("information", "--theta", "2"))
    assert (code, printed) == (1, "")
    assert "Rosebud" not in said
    assert "RuntimeError" in said
    monkeypatch.setattr(confide_cli.choose, "information", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    assert confide(*line("information", "--theta", "2"))[0] == 130


def test_a_missing_package_is_named(confide, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "typer.exceptions", None)
    code, _, said = confide("--help")
    assert code == 1
    assert 'pip install "confide[cli]"' in said


def test_covariates_with_laws_in_words():
    from confide_cli.words import read_population

    rows = read_population("linear_regression(cost, age=Normal(40, 12), stay=Gamma(2, 0.5))")
    assert rows.columns == ("age", "stay", "cost") and rows.names == ("intercept", "coefficients", "variance")
    assert "covariate_mean" in read_population("linear_regression(cost, age)").names
    with pytest.raises(cf.InvalidArgument, match="only some of the covariates"):
        read_population("linear_regression(cost, age=Normal(40, 12), stay)")
    with pytest.raises(cf.InvalidArgument, match="twice"):
        read_population("linear_regression(cost, age=Normal(40, 12), age=Normal(40, 12))")
    for bad in ("age=__import__('os')", "age=Normal(x, 1)", "age=nothing(1)", "age=Normal([1, 2], 1)", "age="):
        with pytest.raises(cf.InvalidArgument):
            read_population(f"linear_regression(cost, {bad})")


def test_a_statistic_with_bounds_of_its_own_for_each_column():
    from confide_cli.words import split_statistic

    told = split_statistic("mean age, age * cost on age=18:90 cost=-1e3:5e4 with gaussian(step=1)")
    assert told == ("mean age, age * cost", {"age": (18.0, 90.0), "cost": (-1000.0, 50000.0)}, "gaussian(step=1)")
    assert split_statistic("mean age on 18 90")[1] == [18.0, 90.0]
    with pytest.raises(cf.InvalidArgument, match="twice"):
        split_statistic("mean age on age=1:2 age=3:4")
    with pytest.raises(cf.InvalidArgument, match="number"):
        split_statistic("mean age on age=1:two")
