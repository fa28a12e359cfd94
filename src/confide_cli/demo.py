"""`demo`: the whole story on a real table, as the command lines that anybody would type.

How often do people see a doctor? 2,019 people of the RAND Health Insurance Experiment know, and a data holder publishes
one number about them. The answer without privacy is printed at the end, for judgement.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
import tempfile
from pathlib import Path

import numpy as np

from confide import datasets
from confide_cli.show import say
from confide_cli.study import UsageProblem

#: a negative binomial: its concentration is close to what the records say (0.71 by maximum likelihood)
_POPULATION = "negative_binomial(concentration=0.7)"
_PRIOR = "mean ~ Gamma(4, 1)"
_PRIVACY = "pure:0.2"


def demo(folder: Path | None) -> None:
    """Choose, release, learn, and compare with the truth."""
    place = _place(folder)
    table = place / "doctor_visits.csv"
    shutil.copy(datasets.doctor_visits(), table)
    visits = np.loadtxt(table, delimiter=",", skiprows=1, usecols=0)
    n = f"{visits.size:,}"
    with contextlib.chdir(place):
        say(f"How often do people see a doctor in a year? {n} people know, and one noisy number will be published.\n")
        say("1. The data holder asks what to publish, before any record is read (prior: 4 visits, give or take 2).")
        known = ("--population", _POPULATION, "--prior", _PRIOR)
        asked = ("--privacy", _PRIVACY, "--n", str(visits.size), "--family", "clip", "--family", "threshold")
        chosen = _type("optimize", *known, *asked, "--report", "choice.html")
        words = shlex.split(chosen.split("To use it: ")[1].splitlines()[0])
        say("2. The data set has a budget, and the number is released from it: exact sums in DuckDB, exact noise.")
        _type("ledger", "budget.db", "people", "--budget", "pure:1")
        spent = ("--ledger", "budget.db", "--dataset", "people", "--output", "release.json", "--report", "release.html")
        _type("release", table.name, "--column", "visits", *words, *spent)
        say("3. An analyst, who sees release.json and nothing else, asks what it says about the population.")
        told = _type("infer", "release.json", *known, "--report", "report.html")
    say("For judgement, what only the data holder can see:")
    error = visits.std(ddof=1) / np.sqrt(visits.size)
    say(f"  the mean of the {n} people is {visits.mean():.4g}; it tells the population's to ± {error:.2g} (sd)")
    say(f"  of the population's mean the analyst was told: {_line(told)}")
    say("  the mean of all 20,190 person-years of the experiment, of which these are every tenth, is 2.86")
    say(f"  the model is not the truth: its distribution function is off by up to {_misfit(visits):.3f}, and so the")
    low, high = (float(words[words.index("--bounds") + i]) for i in (1, 2))
    say(f"  released statistic without any noise would be read as a mean of {_without_noise(visits, low, high):.3g}")
    say(f"\nThe reports: {place / 'choice.html'} (for the data holder), {place / 'release.html'},")
    say(f"             {place / 'report.html'} (for the analyst)")


def _place(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="confide-demo-"))
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UsageProblem(
            f"--folder {folder} cannot be made: {error.strerror}; name one that does not exist"
        ) from None
    return folder.resolve()


def _type(*arguments: str) -> str:
    """Show a command line, run it and show what it prints."""
    from confide_cli.program import run

    say(f"\n$ {shlex.join(['confide', *arguments])}")
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        code = run(arguments)
    say(stream.getvalue())
    if code != 0:
        raise UsageProblem("the demo stops here")
    return stream.getvalue()


def _line(told: str) -> str:
    """The line of the posterior's only parameter."""
    return next(line for line in told.splitlines() if line.startswith("  mean:")).strip().removeprefix("mean: ")


def _misfit(visits: np.ndarray) -> float:
    """The largest distance between the records' distribution function and the model's at their own mean."""
    from confide_cli.words import read_population

    counts = np.arange(visits.max() + 1)
    empirical = np.searchsorted(np.sort(visits), counts, side="right") / visits.size
    return float(np.abs(empirical - read_population(_POPULATION).cdf(counts, visits.mean())).max())


def _without_noise(visits: np.ndarray, low: float, high: float) -> float:
    """The mean at which the model's clipped mean, low + Σ P(X > k) over low ≤ k < high, is that of the records."""
    from scipy.optimize import brentq

    from confide_cli.words import read_population

    population, counts = read_population(_POPULATION), np.arange(low, high)
    wanted = np.clip(visits, low, high).mean()
    return float(brentq(lambda mean: low + population.survival(counts, mean).sum() - wanted, 0.1, 50.0))
