"""One list of each kind: what is in it is a full member, and what is a member is in it."""

import inspect

import pytest

import confide as cf
from confide import registry
from confide.inference.methods import METHODS
from confide.likelihood import ROUTES
from confide.published.schema import json_schema


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        ("statistic", cf.Statistic),
        ("mechanism", cf.Mechanism),
        ("privacy", cf.Privacy),
        ("likelihood", cf.Route),
        ("inference.methods", cf.Method),
        ("design.families", cf.Family),
    ],
)
def test_every_class_of_a_kind_is_in_its_list_and_public(kind, base):
    found = registry.members(kind)
    assert all(issubclass(each, base) for each in found.values())
    if kind != "design.families":
        assert all(getattr(cf, name) is each for name, each in found.items())
    else:
        assert set(found) == set(cf.families.__all__)


def test_every_population_is_in_the_list():
    made = {
        name
        for name, each in vars(cf.populations).items()
        if inspect.isfunction(each) and each.__module__.startswith("confide.populations") and not name.startswith("_")
    }
    assert made == {*registry.POPULATIONS, *registry.POPULATIONS_OF_ROWS}


def test_routes_and_methods_are_called_by_their_names():
    assert {name: type(route).__name__ for name, route in ROUTES.items()} == registry.ROUTES
    assert {name: method.name for name, method in METHODS.items()} == {name: name for name in registry.METHODS}


def test_the_published_schema_lists_what_a_file_may_hold():
    forms = json_schema()["$defs"]
    assert forms["StatisticForm"]["properties"]["kind"]["enum"] == list(registry.STATISTICS.values())
    assert forms["MechanismForm"]["properties"]["kind"]["enum"] == list(registry.MECHANISMS.values())
