"""Ask the library a question and judge the answer: right, wrong, silent, refused or slow."""

from __future__ import annotations

import contextlib
import signal
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import jax
import numpy as np

import confide as cf
from tests.audit import oracle
from tests.audit.questions import Question
from tests.audit.running import Clock

#: relative error of p where exactness is claimed; of information; of a posterior's mean and sd, in sds
LIKELIHOOD, INFORMATION, POSTERIOR = 1e-6, 1e-3, 5e-3
SLOW, ENDLESS = 20.0, 90.0
CLOCK = Clock()
ABOUT = ("likelihood", "information", "posterior")
#: kinds of complaint, and how they are told
COMPLAINTS = {"wrong": "WRONG", "silent": "SILENT", "crashed": "CRASHED", "refused": "refused", "slow": "slow"}


@dataclass
class Verdict:
    """What was found about one question: complaints by kind, and the CPU seconds that each part takes, asked first."""

    question: Question | str
    wrong: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    #: lost with its process; not done when the time was up; approximate, and says so: the last two are no complaints
    crashed: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    #: CPU seconds in all, by the library and by the computations it is compared with; and the memory taken, in GiB
    cost: float = 0.0
    memory: float = 0.0
    #: the question is the `number`-th of a seed
    seed: int | None = None
    number: int | None = None

    @property
    def right(self) -> bool:
        return not any(getattr(self, kind) for kind in COMPLAINTS)

    def __str__(self):
        again = "" if self.seed is None else f"\n    python -m tests.audit --seed {self.seed} --number {self.number}"
        told = [(name, text) for kind, name in COMPLAINTS.items() for text in getattr(self, kind)]
        return "\n".join(f"{name}: {text}\n    {self.question}{again}" for name, text in told)


def judge(question: Question, *, with_posterior: bool, about: str = "all") -> Verdict:
    """Likelihood, information and, if asked for, the posterior of one question; or only one of them."""
    verdict, start, before = Verdict(question), time.process_time(), _peak(anew=True)
    too_large = contextlib.suppress(MemoryError)  # for the oracle, which then has nothing to say
    with too_large:
        if about in ("all", "information"):
            _information(verdict)
    with too_large:
        known = oracle.likelihood(question) if about != "information" else None
        if known is not None and about != "posterior" and known.y.size:
            _likelihood(verdict, known)
        asked = about == "posterior" or (about == "all" and with_posterior)
        served = question.family.prior is not None and question.kind in ("mean", "rank", "lattice")
        if known is not None and asked and served:
            # where p is largest: between the values of a narrow law a transform is rounding
            _posterior(verdict, float(known.y[np.argmax(known.log_p)]))
    verdict.cost, verdict.memory = time.process_time() - start, _peak() - before
    return verdict


def _peak(*, anew: bool = False) -> float:
    """The most memory that this process has had so far, in GiB; or since it was asked anew."""
    if anew:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 2**20


@contextlib.contextmanager
def _limited():
    """An answer that does not come in so many CPU seconds is a TimeoutError."""

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, ENDLESS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _ask(verdict: Verdict, what: str, function):
    """The answer and what was said on the way; None if it was refused (noted), did not come, or broke (wrong)."""

    def answered():
        try:
            with _limited():
                return function()
        except TimeoutError:
            verdict.slow.append(f"{what}: no answer in {ENDLESS:.0f} CPU s")
        except cf.ConfideError as error:
            verdict.refused.append(f"{what}: {error}")
        except Exception as error:
            verdict.wrong.append(f"{what}: {type(error).__name__}: {str(error)[:200]}")
        return None

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        answer, verdict.seconds[what] = CLOCK.time(what, answered)
    if verdict.seconds[what] > SLOW and not any(text.startswith(what) for text in verdict.slow):
        verdict.slow.append(f"{what}: {verdict.seconds[what]:.0f} CPU s")
    told = [w for w in said if not issubclass(w.category, DeprecationWarning)]
    # of another package: nobody who asked knows what is meant, and nothing is excused by it
    raw = [w for w in told if not issubclass(w.category, cf.ConfideWarning)]
    verdict.wrong += [f"{what}: {w.category.__name__} at {w.filename}:{w.lineno}: {w.message}" for w in raw]
    words = [str(w.message) for w in told if issubclass(w.category, cf.ApproximationWarning)]
    verdict.told += [f"{what}: {text}" for text in words]
    return answer, words


def _likelihood(verdict: Verdict, known: oracle.Answer) -> None:
    question = verdict.question
    theta = question.theta if len(question.theta) > 1 else question.theta[0]
    if question.kind in ("each", "response"):
        # the same value for every record but the last, so that both are seen
        pairs = [np.concatenate([np.full(question.n - 1, known.y[0]), [y]]) for y in known.y]
        value = np.asarray(pairs)
        expected = (question.n - 1) * known.log_p[0] + known.log_p
        error = (question.n - 1) * known.error[0] + known.error
    else:
        value, expected, error = known.y, known.log_p, known.error
    found, said = _ask(verdict, "log_likelihood", lambda: question.model.log_likelihood(theta, value))
    if found is None:
        return
    found = np.asarray(found)
    off = np.abs(np.expm1(found - expected))
    allowed = np.maximum(LIKELIHOOD * max(1, question.n if question.kind == "each" else 1), 3 * error)
    # far tails of a lattice law are rounding: judged where p is not negligible
    seen = expected > expected.max() - 14
    if question.kind in ("smooth", "exponential"):
        allowed = np.maximum(LIKELIHOOD, error)
    bad = seen & ~(off <= allowed)
    if not bad.any() or said:
        return
    worst = int(np.argmax(np.where(bad, off, 0)))
    text = (
        f"log_likelihood at y = {np.ravel(value[worst])[-1]:.6g}: {found[worst]:.9g}, should be {expected[worst]:.9g}"
    )
    near_normal = question.kind in ("mean", "lattice") and np.allclose(
        found, oracle.normal_log_density(question, known.y), rtol=1e-3, atol=1e-2
    )
    (verdict.silent if near_normal else verdict.wrong).append(text)


def _information(verdict: Verdict) -> None:
    question = verdict.question
    known = oracle.information(question)
    if known is None:
        return
    expected, error = known
    theta = question.theta if len(question.theta) > 1 else question.theta[0]
    found, said = _ask(verdict, "information", lambda: cf.information(question.model, theta))
    if found is None or said or not found.exact:
        return  # refused (noted), or it says itself that it is an approximation
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    # what is told about θ by numbers this small is rounding in any computation
    allowed = np.maximum(INFORMATION * scale, 3 * error) + 1e-7
    if not np.all(np.abs(found.matrix - expected) <= allowed):
        text = f"information {found.matrix.ravel()} by {found.method!r}, should be {expected.ravel()}"
        verdict.wrong.append(f"{text} (within {error.max():.1g})")


def _posterior(verdict: Verdict, y: float) -> None:
    question = verdict.question
    prior = question.family.prior(question.theta[0])
    name = question.family.population.names[0]
    release = cf.Release(question.model.channel, y)
    found, said = _ask(
        verdict, "infer", lambda: cf.infer(question.family.population, release, {name: prior}, key=0, draws=100)
    )
    if found is None:
        return
    mean, sd = float(found.mean), float(found.sd)
    support = prior.support
    low = max(mean - 9 * sd, float(getattr(support, "lower_bound", -np.inf)) + 1e-6 * sd)
    high = min(mean + 9 * sd, float(getattr(support, "upper_bound", np.inf)) - 1e-6 * sd)
    log_prior = lambda t: np.asarray(prior.log_prob(t), dtype=float)  # noqa: E731
    drawn = np.asarray(prior.sample(jax.random.key(0), (4000,)))
    wide = drawn.min() - 0.3 * np.ptp(drawn), drawn.max() + 0.3 * np.ptp(drawn)
    ends = float(getattr(support, "lower_bound", -np.inf)), float(getattr(support, "upper_bound", np.inf))
    reach = max(wide[0], ends[0] + 1e-3 * np.ptp(drawn)), min(wide[1], ends[1] - 1e-3 * np.ptp(drawn))
    where = oracle.windows(question, y, low, high, reach)
    true_mean, true_sd, left, error = oracle.posterior(question, y, log_prior, where, reach)
    off = max(abs(mean - true_mean), abs(sd - true_sd)) / true_sd
    # a heavy tail beyond all that was looked at would make the comparison unfair
    if off > POSTERIOR + 30 * left + 3 * error and not said and not found.diagnostics.warnings:
        verdict.wrong.append(f"posterior {mean:.6g} ± {sd:.6g}, should be {true_mean:.6g} ± {true_sd:.6g}")
