"""One list of each kind: what is in it is a full member, and what is a member is in it."""

import inspect

import pytest

import confide as cf
from confide import registry
from confide.inference.methods import METHODS
from confide.likelihood import ROUTES
from confide.published.schema import json_schema
from confide.releasing.plan import check_computed


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


def test_numbers_of_statistics_are_known_to_files_and_to_the_classes():
    form = json_schema()["$defs"]["StatisticForm"]["properties"]
    for word, name in registry.STATISTIC_NUMBERS.items():
        made = getattr(cf, registry.STATISTICS[word])("x", 0.25, bounds=(0, 1))
        assert made.options == {name: 0.25} and name in form


def test_what_no_engine_computes_is_refused_before_a_record_is_read():
    """A new member of the list reached the reader of ranks, which stumbled over it with the records in its hands."""

    class MidRange(cf.Statistic):
        def summary(self, records, window=0):
            return self.values(records).mean(axis=-1)

        def sensitivity(self, n, norm=1):
            return 1.0

    with pytest.raises(cf.IncompatibleError, match="neither a sum nor a mean of ranks"):
        check_computed(cf.Channel(MidRange("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=10))
