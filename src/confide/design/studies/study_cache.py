"""Results of a study on disk: one file per cell, written whole or not at all.

A cell's file is named by a digest of everything that its numbers depend on. A study that is killed and run again finds
the files of the cells that it finished, and computes the others; a study with another setting never mistakes them for
its own.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from confide.channel import Channel
from confide.design.adaptive.plan import Adaptive
from confide.errors import InvalidArgument
from confide.population import Population
from confide.prior import Prior
from confide.statistic.transform import Function

#: to be changed when the meaning of a cell's numbers changes
_FORMAT = 2


def assumed(population: Population, prior: Prior) -> dict[str, Any]:
    """What all cells of a study share."""
    # numpyro keeps a distribution's parameters in an order that changes from process to process: draws do not
    draws = np.asarray(prior.probes)[:8]
    with jax.enable_x64(True):
        densities = np.asarray(prior.log_prob(jnp.asarray(draws)))
    return {
        "format": _FORMAT,
        "population": [repr(population), _spoken(population.family), _fingerprint(population)],
        "prior": [repr(prior), _rounded(draws), _rounded(densities)],
    }


def describe(strategy: Any, shared: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Everything that a cell's numbers depend on, as a text."""
    return json.dumps({**shared, "strategy": repr(strategy), **settings}, sort_keys=True)


def _spoken(family: Any) -> str:
    """A family in words that are the same in every process: no addresses in memory."""
    if dataclasses.is_dataclass(family):
        fields = [f"{field.name}={_spoken(getattr(family, field.name))}" for field in dataclasses.fields(family)]
        return f"{type(family).__qualname__}({', '.join(fields)})"
    if isinstance(family, functools.partial):
        return f"{_spoken(family.func)}{family.args}{sorted(family.keywords.items())}"
    name = getattr(family, "__qualname__", None)
    if name is not None:
        return f"{family.__module__}.{name}"
    return type(family).__qualname__ if callable(family) else repr(family)


@functools.lru_cache(maxsize=64)
def _fingerprint(population: Population) -> list[float]:
    """The density at a few places, which tells families apart that are called alike."""
    theta = population.constrain(np.linspace(-0.3, 0.4, population.unconstrained_dimension))
    if population.rows is None:
        return _rounded(np.asarray(population.log_prob(_places(population), theta)))
    rows = {name: _places(law.population)[:6] for name, law in population.rows.columns}
    return _rounded(np.asarray(population.log_prob(rows, theta)))


def _places(population: Population) -> np.ndarray:
    """Records of one number to look at."""
    return np.arange(6.0) if population.discrete else np.linspace(-2.0, 4.0, 7)


def _rounded(values: np.ndarray) -> list[float]:
    """Six digits, which machines agree on."""
    return [float(f"{value:.6g}") for value in values.ravel()]


def require_text(strategy: Any) -> None:
    """Refuse Python functions, which cannot be told apart in a file."""
    if isinstance(strategy, Adaptive):
        return
    channels = (
        [strategy]
        if isinstance(strategy, Channel)
        else [strategy.channel, *(getattr(strategy, "candidates", None) or ())]
    )
    for channel in channels:
        if any(isinstance(transform, Function) for transform in channel.statistic.transforms):
            problem = "cannot be kept on disk for a statistic that is a Python function"
            raise InvalidArgument("path", str(channel.statistic), problem, "write s as a text, or leave path out")


class StudyCache:
    """The folder of a study's cells; without a path nothing is kept."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.folder = None if path is None else Path(path)
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InvalidArgument("path", str(path), f"is no folder ({error.strerror})", "give a folder") from error

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """An interruption says in one line what is kept, without the frames of whatever was being computed."""
        try:
            yield
        except KeyboardInterrupt:
            if self.folder is None:
                kept = "nothing was kept; give path= a folder, and a study that is run again continues where it stopped"
            else:
                kept = f"finished cells are kept in {str(self.folder)!r}: run the same study again to continue"
            raise KeyboardInterrupt(f"interrupted; {kept}") from None

    def _file(self, description: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{hashlib.sha256(description.encode()).hexdigest()[:32]}.json"

    def read(self, description: str) -> dict[str, Any] | None:
        """The numbers of a cell that was finished before."""
        if self.folder is None:
            return None
        try:
            content = json.loads(self._file(description).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return content["numbers"] if content.get("description") == description else None

    def write(self, description: str, numbers: Mapping[str, Any]) -> None:
        """Keep the numbers of a cell: a new file takes the place of the old one in one step.

        It is not waited for the disk, which takes four times as long as all else: what a loss of power leaves half
        written is no JSON, and its cell is computed again.
        """
        if self.folder is None:
            return
        handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"description": description, "numbers": dict(numbers)}, file)
            Path(temporary).replace(self._file(description))
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
