"""How the noise of a channel enters the inversion: on a continuum, or where it or the statistic has a lattice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from confide.likelihood.noise.lattice import lattice_spacing
from confide.likelihood.noise.transform import (
    DiscreteTransform,
    GaussianOnLattice,
    GaussianTransform,
    LaplaceOnLattice,
    LaplaceTransform,
    NoiseTransform,
    UnrelatedTransform,
)
from confide.mechanism.noise import Noise

if TYPE_CHECKING:
    from confide.model import Model


def noise_transform(model: Model) -> NoiseTransform | None:
    """How the channel's noise enters the inversion; None where it cannot."""
    law, n = model.channel.law, model.channel.n
    statistic = model.channel.statistic
    assert law.added is not None
    assert statistic.averages
    return transform_of(law.added, lattice_spacing(model.population, statistic), n)


def transform_of(noise: Noise, lattice: tuple[float, float] | None, n: int) -> NoiseTransform | None:
    """The same for the mean of n records whose s is a continuum, or lies on a lattice of this origin and spacing."""
    if noise.step is not None:
        return _on_lattices(noise, float(noise.step), lattice, n)
    if noise.kinked:
        return LaplaceTransform(noise.scale) if lattice is None else LaplaceOnLattice(noise.scale, lattice[1] / n)
    if noise.normal:
        return GaussianTransform(noise.scale) if lattice is None else GaussianOnLattice(noise.scale, lattice[1] / n)
    return None


def _on_lattices(noise: Noise, step: float, lattice: tuple[float, float] | None, n: int) -> NoiseTransform:
    """Discrete noise on a continuum, on a lattice that holds the noise's or is held by it, or on another."""
    gaussian = not noise.exponential
    if lattice is None:
        return DiscreteTransform(noise.scale, step, gaussian=gaussian)
    origin, spacing = lattice[0], lattice[1] / n
    finer, coarser = spacing / step, step / spacing
    if _whole(finer) and abs(origin / step - round(origin / step)) < 1e-9:
        return (GaussianOnLattice if gaussian else LaplaceOnLattice)(noise.scale, spacing, step)
    if _whole(coarser):  # of the points that are rounded to 0, the first; halves are rounded up
        first = origin + spacing * math.ceil((-0.5 * step - origin) / spacing - 1e-9)
        return DiscreteTransform(noise.scale, step, gaussian=gaussian, spacing=spacing, first=first)
    return UnrelatedTransform(noise.scale, step, gaussian=gaussian, spacing=spacing)


def _whole(ratio: float) -> bool:
    """Whether a ratio is a whole number, to the rounding of a spacing and a count."""
    return round(ratio) >= 1 and abs(ratio - round(ratio)) < 1e-9 * ratio


def lattice_period(transform: NoiseTransform) -> float:
    """The spacing of the lattice on which the transform of the statistic is periodic; 0 for a continuum."""
    return float(getattr(transform, "spacing", 0.0))


def noise_step(transform: NoiseTransform) -> float:
    """The spacing of the noise's own lattice; 0 if it has a density."""
    return float(getattr(transform, "step", 0.0))
