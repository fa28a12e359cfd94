"""Every public name, and every method that a user calls, has a docstring with an example that runs (as a doctest)."""

import inspect
import operator

import pytest

import confide as cf
from confide import datasets, populations
from confide.design import MeanFamily, families
from confide.inference.kernel import Kernel

#: between our own packages, and of no use to a user
SEAMS = {
    "Ledger.find", "Ledger.foresee", "Ledger.record", "Release.entered", "PerRecord.tabulate", "Pool.pool",
    "Pool.log_prob_with_error", "Route.by_batch", "Route.for_a_posterior", "Route.impossible", "Route.seconds",
    "Route.information_with_error", "Route.log_likelihood", "Route.traced", "Route.for_a_look", "Route.quicker",
    "Route.information", "Route.told", "CountTable.among", "Statistic.averaged_ranks",
}  # fmt: skip


def public():
    """(name, object) of everything that is reached from `confide`."""
    for name in cf.__all__:
        value = getattr(cf, name)
        if not inspect.ismodule(value):
            yield name, value
    for space in (populations, families, datasets):
        names = getattr(space, "__all__", None) or [n for n, v in vars(space).items() if inspect.isfunction(v)]
        for name in names:
            value = getattr(space, name)
            if value.__module__.startswith("confide"):
                yield f"{space.__name__}.{name}", value
    yield "MeanFamily", MeanFamily
    yield "Kernel", Kernel


def methods():
    """(name, member) of the public methods of public classes, each where it is first declared.

    Abstract methods, and what implements them, are explained by the example of the class that declares them.
    """
    for owner, value in public():
        if not inspect.isclass(value) or issubclass(value, Exception):
            continue
        ours = [base for base in value.__mro__ if base.__module__.startswith("confide")]
        for name, member in inspect.getmembers(value, callable):
            declared = [base for base in ours if name in vars(base)]
            if name.startswith("_") or not declared or inspect.isclass(member) or f"{owner}.{name}" in SEAMS:
                continue
            if getattr(member, "__isabstractmethod__", False):
                continue
            if declared == [value] or (len(declared) == 1 and declared[0] not in map(operator.itemgetter(1), public())):
                yield f"{owner}.{name}", member


@pytest.mark.parametrize(("name", "value"), [pytest.param(*each, id=each[0]) for each in public()])
def test_every_public_name_has_an_example(name, value):
    assert ">>>" in (inspect.getdoc(value) or ""), name


@pytest.mark.parametrize(("name", "value"), [pytest.param(*each, id=each[0]) for each in methods()])
def test_every_method_that_users_call_has_an_example(name, value):
    assert ">>>" in (inspect.getdoc(value) or ""), name
