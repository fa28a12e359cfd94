"""What is compiled is kept for the next process: where, for whom, and what is in it."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from confide import _kept

MODEL = """
import sys, jax, confide as cf
channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
model = cf.Model(cf.populations.bernoulli(), channel)
"""
LOOKED_FOR = """
from jax import monitoring
found = []
monitoring.register_event_listener(lambda name, **_: found.append(name.rsplit("/", 1)[-1]))
"""
OWN = "jax.jit(lambda x: x * 3 + 1)(1.0)\n"
RELEASE = """
import os, confide as cf
ledger = cf.Ledger(os.environ["XDG_CACHE_HOME"] + "/budget.db")
ledger.open("people", budget=cf.ApproxDP(9.0, 1e-3))
for statistic in (cf.Mean("x", bounds=(0, 1)), cf.Median("x", bounds=(0, 1))):
    mechanism = cf.Laplace if statistic.averages else cf.SmoothLaplace
    channel = cf.Channel(statistic, mechanism(cf.PureDP(1.0) if statistic.averages else cf.ApproxDP(1.0, 1e-4)), n=50)
    cf.release(channel, {records}, ledger=ledger, dataset="people")
"""


def programs(cache):
    return sorted(path.name for path in cache.glob("confide/programs-*/*-cache"))


def ran(code, cache, **settings):
    """What a fresh process prints, and nothing on standard error."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "JAX_ENABLE_COMPILATION_CACHE": "true", **settings}
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A cache of the user's own, asked for anew."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _kept.folder.cache_clear()
    yield tmp_path
    _kept.folder.cache_clear()


def test_a_second_process_compiles_nothing_and_leaves_the_callers_own_programs_alone(tmp_path):
    code = MODEL + LOOKED_FOR + "print(model.log_likelihood(0.3, 0.31))\n" + OWN + "print(*found)"
    first, second = (ran(code, tmp_path).split() for _ in range(2))
    assert first[0] == second[0]
    assert "cache_misses" in first and "cache_misses" not in second
    assert second.count("cache_hits") == first.count("cache_misses")
    names = programs(tmp_path)
    assert names and not any("lambda" in name for name in names)
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "confide").rglob("programs-*"))


def test_a_folder_that_the_caller_has_told_jax_serves_instead(tmp_path):
    own = tmp_path / "own"
    settings = {"JAX_COMPILATION_CACHE_DIR": str(own), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    ran(MODEL + "model.log_likelihood(0.3, 0.31)\n" + OWN, tmp_path / "cache", **settings)
    assert any("lambda" in path.name for path in own.iterdir()) and not programs(tmp_path / "cache")


def test_nothing_is_kept_where_jax_is_told_so(tmp_path):
    ran(MODEL + "model.log_likelihood(0.3, 0.31)", tmp_path, JAX_ENABLE_COMPILATION_CACHE="false")
    assert not programs(tmp_path)


def test_a_release_compiles_nothing(tmp_path):
    for name, records in (("one", [0.25] * 50), ("other", [0.75] * 49 + [0.125])):
        (tmp_path / name).mkdir()
        ran(RELEASE.format(records=records), tmp_path / name)
    assert programs(tmp_path / "one") == programs(tmp_path / "other") == []


def test_settings_are_as_before_afterwards(home):
    before = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", True)
    least = jax.config.jax_persistent_cache_min_compile_time_secs
    try:
        with _kept.KEPT:
            with _kept.KEPT:
                assert jax.config.jax_compilation_cache_dir == _kept.folder()
            assert jax.config.jax_compilation_cache_dir == _kept.folder()
            assert jax.config.jax_persistent_cache_min_compile_time_secs == 0.0
        assert jax.config.jax_compilation_cache_dir is None
        assert jax.config.jax_persistent_cache_min_compile_time_secs == least
        with _kept.KEPT:  # and what the caller decides meanwhile stays
            jax.config.update("jax_compilation_cache_dir", str(home / "own"))
        assert jax.config.jax_compilation_cache_dir == str(home / "own")
    finally:
        jax.config.update("jax_compilation_cache_dir", None)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", least)
        jax.config.update("jax_enable_compilation_cache", before)


@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_folder_that_others_can_write_to_is_not_used(home, above):
    """Of programs, of ours, and that of all caches, where another of our name could be put."""
    found = Path(_kept.folder())
    [found, *found.parents][above].chmod(0o770)
    _kept.folder.cache_clear()
    assert _kept.folder() is None


def test_a_place_where_nothing_can_be_made_is_no_error(home, monkeypatch):
    (home / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "file"))
    assert _kept.folder() is None


def test_a_program_that_was_not_written_to_its_end_is_compiled_again(tmp_path):
    code = MODEL + "print(model.log_likelihood(0.3, 0.31))"
    first = ran(code, tmp_path)
    for path in tmp_path.glob("confide/programs-*/*-cache"):
        path.write_bytes(path.read_bytes()[:100])
    assert ran(code, tmp_path) == first  # and no warning


def test_the_size_is_bounded_and_the_oldest_goes_first(home, monkeypatch):
    found = Path(_kept.folder())
    for age in range(5):
        (found / f"{age}-cache").write_bytes(bytes(1000))
        os.utime(found / f"{age}-cache", (1e9 - age, 1e9 - age))
    monkeypatch.setattr(_kept, "MOST", 3500)
    _kept.folder.cache_clear()
    _kept.folder()
    assert sorted(path.name for path in found.iterdir()) == ["0-cache", "1-cache", "2-cache"]


def test_processors_that_differ_keep_apart(home, monkeypatch):
    one = _kept.folder()
    monkeypatch.setattr(_kept, "_processor", lambda: "another")
    _kept.folder.cache_clear()
    assert _kept.folder() != one
