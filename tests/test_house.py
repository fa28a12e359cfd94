"""The house: packages that follow one another, folders and files that can be looked through, and names of their own."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from confide import mechanism, statistic

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
FILES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}
#: DESIGN.md's order: whatever stands on a line may import what stands before it, and nothing after
ORDER = [
    "_digits _threefry _redaction _cubic _kept _precision _compile _progress coordinates registry",
    "errors",
    "_random _final _call _checks _lazy workers",
    "privacy expression",
    "population",
    "populations",
    "statistic",
    "mechanism",
    "evenly processing",
    "channel",
    "model",
    "likelihood",
    "clipping",
    "prior",
    "published",
    "missing",
    "posterior predictive claim model_check",
    "information",
    "inference",
    "frequentist denoising",
    "contrasting",
    "plots",
    "design",
    "releasing",
    "reporting",
    "paper datasets",
]
PLACE = {name: place for place, line in enumerate(ORDER) for name in line.split()}
#: what is asked for inside a function although it comes later: a verb of a value that needs all that was built on it
LATER = {
    ("model", "likelihood"): "`Model.log_likelihood` is the verb of a model",
    ("posterior", "inference"): "`Posterior.log_evidence` integrates as `infer` does",
    ("posterior", "plots"): "`Posterior.plot` needs matplotlib, which is optional",
    ("denoising", "plots"): "`TrueCounts.plot` needs matplotlib, which is optional",
}


def imports(tree, inside=False):
    """(node, whether it is inside a function) of all imports that run."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, inside
        yield from imports(node, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


def needed(name):
    """The modules of ours that a module imports, each with whether that is inside a function."""
    for node, inside in imports(ast.parse(FILES[name].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                if full in FILES or node.module in FILES:
                    yield (full if full in FILES else node.module), inside
        elif isinstance(node, ast.Import):
            yield from ((alias.name, inside) for alias in node.names if alias.name in FILES)


def unit(name, depth):
    return ".".join(name.split(".")[1 : 1 + depth])


def test_every_package_has_its_place_in_the_flow():
    units = {unit(name, 1) for name in FILES if name.startswith("confide.")} - {"__main__"}
    assert units == set(PLACE), units ^ set(PLACE)


def test_packages_import_what_comes_before_them():
    back = {
        (unit(name, 1), unit(other, 1))
        for name in FILES
        if name.startswith("confide.") and unit(name, 1) in PLACE
        for other, inside in needed(name)
        if other.startswith("confide.")
        if PLACE[unit(other, 1)] > PLACE[unit(name, 1)]
        if not (inside and (unit(name, 1), unit(other, 1)) in LATER)
    }
    assert not back, back


@pytest.mark.parametrize("package", ["likelihood", "inference", "frequentist", "design", "releasing"])
def test_folders_of_a_package_have_no_cycle(package):
    edges = defaultdict(set)
    for name in FILES:
        if name.startswith(f"confide.{package}."):
            for other, _ in needed(name):
                if other.startswith(f"confide.{package}.") and unit(other, 2) != unit(name, 2):
                    edges[unit(name, 2)].add(unit(other, 2))
    while edges:
        ends = {name for name in edges if not edges[name] & set(edges)}
        assert ends, f"among {sorted(edges)} each imports another"
        for name in ends:
            del edges[name]


@pytest.mark.parametrize("package", ["likelihood", "inference", "frequentist", "design"])
def test_folders_can_be_looked_through(package):
    for folder in [SOURCE / "confide" / package, *(SOURCE / "confide" / package).rglob("*/")]:
        files = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(files) <= 10, (folder.name, files)


def test_files_can_be_read_in_one_go():
    long = {name: count for name, path in FILES.items() if (count := len(path.read_text().splitlines())) > 300}
    assert not long, long


def test_classes_have_names_of_their_own():
    found = defaultdict(list)
    for name, path in FILES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name)
    twice = {name: where for name, where in found.items() if len(where) > 1}
    assert not twice, twice


def test_callers_never_ask_which_route_it_is():
    """Only whether something is a route at all, where a name or a route may be given."""
    routes = {"Response", "PerRecord", "Share", "Cells", "Spectral", "Order", "Pool", "Normal"}
    for name, path in FILES.items():
        own = {
            alias.asname or alias.name
            for node, _ in imports(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("confide.likelihood")
            for alias in node.names
        }
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                asked = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
                assert not asked & routes & own, (name, node.lineno)


def test_callers_never_ask_what_a_route_is_called():
    """A route of one's own may be called what it likes: what a caller wants to know is a field of it."""
    asked = {
        (name, node.lineno)
        for name, path in FILES.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("route.name")
        if not name.startswith("confide.reporting")
    }
    assert not asked, asked


#: what is still asked for its class outside of the package that defines it, and why
INSPECTED = {
    ("confide.channel", "Statistic"): "whether an argument is a statistic at all",
    ("confide.channel", "Mechanism"): "whether an argument is a mechanism at all",
    ("confide.design.studies.piloting", "Statistic"): "whether an argument is a statistic at all",
    ("confide.design.adaptive.verb", "Statistic"): "whether an argument is a statistic at all",
    **{
        ("confide.design.families.quantile", name): "the search's own approximation of each mechanism, by its class"
        for name in ("Exponential", "SmoothMechanism", "Noiseless", "SmoothCauchy", "Laplace")
    },
}


def test_laws_noise_and_statistics_are_asked_and_not_inspected():
    """What a caller wants to know is a field or a method (`law.added`, `noise.step`, `statistic.averages`)."""
    kinds = (mechanism.Law, mechanism.Noise, mechanism.Mechanism, statistic.Statistic)
    known = {kind.__name__ for root in kinds for kind in (root, *subclasses(root))}
    asked = {
        (name, each.id)
        for name, path in FILES.items()
        if name.split(".")[1:2] not in (["mechanism"], ["statistic"])
        for tree in [ast.parse(path.read_text())]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        for each in ast.walk(node.args[1])
        if isinstance(each, ast.Name) and each.id in known & imported(tree)
    }
    assert asked == set(INSPECTED), asked ^ set(INSPECTED)


def subclasses(kind):
    """Those of ours, for other tests derive some of their own."""
    for each in kind.__subclasses__():
        if each.__module__.startswith("confide."):
            yield each
            yield from subclasses(each)


def imported(tree):
    """The names that come from the packages of mechanisms and statistics."""
    return {
        alias.asname or alias.name
        for node, _ in imports(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith(("confide.mechanism", "confide.statistic"))
        for alias in node.names
    }


def test_numbers_say_how_they_were_found_or_what_they_trade():
    """A comment above a constant or a run of them, or beside it."""
    silent = defaultdict(list)
    for name, path in FILES.items():
        lines = path.read_text().splitlines()
        for node in ast.parse(path.read_text()).body:
            if is_number(node) and not is_explained(lines, node):
                silent[unit(name, 9)].append(lines[node.lineno - 1])
    assert not silent, dict(silent)


def is_number(node):
    """Whether it makes a constant of numbers, and of nothing else that is written there."""
    if not isinstance(node, ast.Assign) or not ast.unparse(node.targets[0]).isupper():
        return False
    written = {type(each.value) for each in ast.walk(node.value) if isinstance(each, ast.Constant)}
    return bool(written) and written <= {int, float}


def is_explained(lines, node):
    first = node.lineno - 1
    while lines[first - 1] and not lines[first - 1].startswith(("#", " ", ")", "}", "from", "import", "@")):
        first -= 1
    return lines[first - 1].startswith("#") or "#" in "".join(lines[node.lineno - 1 : node.end_lineno])
