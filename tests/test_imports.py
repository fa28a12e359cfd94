"""What importing Confide needs, and what it leaves alone."""

import subprocess
import sys
import textwrap

import jax
import pytest

import confide as cf

CORE = ["jax", "jaxlib", "numpyro", "equinox", "jaxtyping", "scipy", "numpy", "wadler_lindig", "multipledispatch", "tqdm",
        "opt_einsum", "ml_dtypes", "typing_extensions"]  # fmt: skip


def run(code):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_core_imports_and_works_with_the_modelling_packages_alone():
    """Every other installed package is hidden; the core must neither import nor need it."""
    result = run(
        f"""
        import sys, importlib.metadata as metadata
        allowed = {CORE!r}
        hidden = set()
        for distribution in metadata.distributions():
            top = distribution.read_text("top_level.txt") or ""
            names = top.split() or [str(f).split("/")[0] for f in distribution.files or [] if str(f).endswith("__init__.py")]
            hidden.update(name.removesuffix(".py") for name in names)
        hidden -= set(allowed) | {{"confide", "src", "__pycache__"}}

        class Hide:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in hidden:
                    raise ModuleNotFoundError(f"{{name}} is hidden", name=name)

        sys.meta_path.insert(0, Hide())
        import confide as cf
        channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=10)
        model = cf.Model(cf.populations.normal_variance(), channel)
        print(model.simulate(0, 2.0).dtype, "pandas" in hidden, "matplotlib" in hidden)
        # what was published can be described and learnt from; making and reading releases needs more, and says so
        assert cf.Release(channel, 0.5).value == 0.5 and cf.Rows(0, 5) and cf.Hashed("id", 0, 0.5)
        for attempt in (lambda: cf.release(channel, [0.5] * 10), lambda: cf.Ledger("budget.db")):
            try:
                attempt()
            except cf.ConfideError as error:
                assert 'pip install "confide[release]"' in str(error), error
            else:
                raise AssertionError("nothing was missing")
        try:
            import pathlib, tempfile
            path = pathlib.Path(tempfile.mkdtemp()) / "release.json"
            cf.Release(channel, 0.5).save(path)
            cf.Release.load(path)
        except cf.ConfideError as error:
            assert 'pip install "confide[release]"' in str(error), error
        """
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["float64", "True", "True"]


@pytest.mark.parametrize(
    ("module", "left"),
    [
        ("confide", ("jax", "numpy", "scipy")),
        ("confide.privacy", ("jax", "numpyro")),
        ("confide_cli.app", ("numpy", "confide")),
        ("confide_cli.batch", ("jax", "numpyro")),
        ("confide_cli.publish", ("numpyro", "confide.likelihood", "confide.design", "scipy.stats")),
        ("confide_cli.verifying", ("numpyro", "confide.likelihood", "confide.design", "scipy.stats")),
    ],
)
def test_a_command_loads_what_it_needs(module, left):
    result = run(f"import sys, {module}; print([name for name in {left!r} if name in sys.modules])")
    assert result.stdout.strip() == "[]", result.stderr


def test_the_verb_is_not_replaced_by_the_package_of_its_name():
    result = run("import confide as cf, confide.information.result; print(cf.information.__name__, type(cf).__name__)")
    assert result.stdout.split() == ["information", "_Package"], result.stderr


def test_importing_and_using_leaves_jax_configuration_unchanged():
    result = run(
        """
        import jax
        before = dict(jax.config.values)
        import confide as cf
        channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=10)
        cf.Model(cf.populations.normal_variance(), channel).simulate(0, 2.0)
        after = dict(jax.config.values)
        assert before == after, {name for name in before if before[name] != after[name]}
        assert jax.numpy.ones(()).dtype == "float32"
        """
    )
    assert result.returncode == 0, result.stderr


def test_importing_does_not_start_a_jax_backend():
    result = run(
        "import confide; from jax._src import xla_bridge; assert not xla_bridge._backends, xla_bridge._backends"
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", cf.__all__)
def test_every_public_name_exists_and_is_documented(name):
    assert getattr(cf, name).__doc__


def test_all_is_complete_and_sorted_for_readers():
    public = {name for name, value in vars(cf).items() if not name.startswith("_") and not isinstance(value, type(sys))}
    assert public - set(cf.__all__) == set()
    assert "populations" in cf.__all__


def test_this_process_is_in_single_precision_by_default():
    assert jax.config.jax_enable_x64 is False
