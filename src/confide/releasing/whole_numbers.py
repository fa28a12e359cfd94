"""A plan: how exact whole numbers become noisy ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from confide.channel import Channel
from confide.published.value import lattice_step
from confide.releasing.quantise import StepGrid


@dataclass(frozen=True)
class Plan(ABC):
    """How exact whole numbers become noisy ones."""

    channel: Channel
    grid: StepGrid

    @abstractmethod
    def publish(self, exact: Any) -> Any:
        """Noisy whole numbers: a tuple for a single release, an int64 array for a batch of records of `Each`."""

    @property
    def step(self) -> Fraction:
        """What the published whole numbers count."""
        return lattice_step(self.channel) or self.grid.step
