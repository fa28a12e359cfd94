"""Results of a study on disk: one file per cell, written whole or not at all.

A cell's file is named by a digest of everything that its numbers depend on. A study that is killed and run again finds
the files of the cells that it finished, and computes the others; a study with another setting never mistakes them for
its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from confide.channel import Channel
from confide.design.piloting import Pilot
from confide.errors import InvalidArgument
from confide.population import Population
from confide.prior import Prior
from confide.statistic.transform import Function

#: to be changed when the meaning of a cell's numbers changes
_FORMAT = 1


def describe(strategy: Channel | Pilot, population: Population, prior: Prior, settings: Mapping[str, Any]) -> str:
    """Everything that a cell's numbers depend on, as a text."""
    family = getattr(population.family, "__qualname__", None) or repr(population.family)
    leaves = [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(prior)]
    content = {
        "format": _FORMAT,
        "population": [repr(population), family],
        "prior": [repr(prior), leaves],
        "strategy": repr(strategy),
        **settings,
    }
    return json.dumps(content, sort_keys=True)


def require_text(strategy: Channel | Pilot) -> None:
    """Refuse Python functions, which cannot be told apart in a file."""
    channels = [strategy] if isinstance(strategy, Channel) else [strategy.channel, *(strategy.candidates or ())]
    for channel in channels:
        if any(isinstance(transform, Function) for transform in channel.statistic.transforms):
            problem = "cannot be kept on disk for a statistic that is a Python function"
            raise InvalidArgument("path", str(channel.statistic), problem, "write s as a text, or leave path out")


class Cells:
    """The folder of a study's cells; without a path nothing is kept."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.folder = None if path is None else Path(path)
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InvalidArgument("path", str(path), f"is no folder ({error.strerror})", "give a folder") from error

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
        """Keep the numbers of a cell: a new file takes the place of the old one in one step."""
        if self.folder is None:
            return
        handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"description": description, "numbers": dict(numbers)}, file)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(self._file(description))
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
