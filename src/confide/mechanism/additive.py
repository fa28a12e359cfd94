"""Adding noise that does not depend on the records."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from confide._final import final
from confide.errors import IncompatibleError, InvalidArgument
from confide.mechanism.base import Law, Mechanism, accept_privacy, options_repr, positive_sensitivity, set_positive
from confide.mechanism.counts import on_the_lattice
from confide.mechanism.discrete import squared_steps
from confide.mechanism.lattice import DiscreteGaussian, DiscreteLaplace, LatticeNoise, lattice_index, nearest_index
from confide.mechanism.noise import OWN, GaussianNoise, LaplaceNoise, Noise
from confide.privacy import Privacy
from confide.privacy.group import two_records
from confide.privacy.rounding import read_number
from confide.statistic import Statistic
from confide.statistic.size import check_size

Layout = Literal["scalar", "vector", "window"]
#: variances that differ by less, relatively, are one
_SAME = 1e-14


def layout_of(statistic: Statistic) -> Layout:
    """How a summary of the statistic is laid out: elementwise, a vector on its last axis, or a window of ranks."""
    if statistic.ranked:
        return "window"
    return "vector" if statistic.dimension > 1 else "scalar"


@final(OWN)
class AdditiveLaw(Law):
    """y = u + V, coordinate by coordinate. With noise on a lattice u is first rounded to the lattice.

    `layout` says what a summary is: "scalar" (each entry is its own release: a mean, or one value per
    record), "vector" (the last axis is one release) or "window" (the last axis holds ranks, u in the middle).
    `unrounded` says that every u is on the lattice already, as counts are.
    """

    noise: Noise
    layout: Layout = eqx.field(static=True, default="scalar")
    unrounded: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        # routes tell Laplace from Gaussian, and a lattice from the line; of any other noise they would assume one
        if not isinstance(self.noise, LaplaceNoise | GaussianNoise | DiscreteLaplace | DiscreteGaussian):
            raise IncompatibleError(
                f"{type(self.noise).__name__} is noise that no exact route knows; {OWN}, which is asked for its density"
            )

    @property
    def added(self) -> Noise:
        """The noise."""
        return self.noise

    @property
    def window(self) -> int:
        """No rank but the statistic's own."""
        return 0

    @property
    def description(self) -> str:
        """The noise and its scale."""
        lattice = f" on multiples of {self.noise.step:g}" if isinstance(self.noise, LatticeNoise) else ""
        return f"{self.noise.kind} noise of scale {self.noise.scale:g}{lattice}"

    def margin(self, probability: float = 0.9) -> float:
        """What the noise exceeds with probability 1 − p at most, and half a step that rounding to a lattice may add."""
        rounded = isinstance(self.noise, LatticeNoise) and not self.unrounded
        rounding = float(self.noise.step) / 2 if rounded else 0.0  # type: ignore[arg-type]
        return self.noise.within(probability) + rounding

    def centre(self, summary: Float[Array, "..."]) -> Float[Array, "..."]:
        """u, as it is before noise: on the lattice if the noise is."""
        u = jnp.asarray(summary)
        if self.layout == "window":
            u = u[..., u.shape[-1] // 2]
        if isinstance(self.noise, LatticeNoise):
            u = self.noise.step * nearest_index(u, self.noise.step)
        return u

    def sample(self, key: jax.Array, summary: Float[Array, "..."]) -> Float[Array, "..."]:
        """A released value for each summary."""
        u = self.centre(summary)
        if isinstance(self.noise, LatticeNoise):
            # added as whole numbers, so that the value is a multiple of the step to the last bit
            index = nearest_index(u, self.noise.step) + self.noise.sample_index(key, u.shape)
            return self.noise.step * index
        return u + self.noise.sample(key, u.shape)

    def log_prob(self, value: Float[Array, "..."], summary: Float[Array, "..."]) -> Float[Array, "..."]:
        """The log density or log mass of one release; summed over the coordinates of a vector."""
        u = self.centre(summary)
        if isinstance(self.noise, LatticeNoise):
            index, on_lattice = lattice_index(value, self.noise.step)
            log_mass = self.noise.log_mass(index - nearest_index(u, self.noise.step))
            each = jnp.where(on_lattice, log_mass, -jnp.inf)
        else:
            each = self.noise.log_prob(value - u)
        return jnp.sum(each, axis=-1) if self.layout == "vector" else each


@dataclass(frozen=True, repr=False)
class AdditiveMechanism(Mechanism):
    """What the mechanisms that add noise share: either a guarantee or a scale, and a lattice if one is wanted."""

    privacy: Privacy | None = None
    scale: float | None = field(default=None, kw_only=True)
    step: float | None = field(default=None, kw_only=True)

    #: the guarantees that this noise can give, and what to do about the others
    kinds: ClassVar[tuple[type[Privacy], ...]]
    remedy: ClassVar[str] = ""
    #: the norm of the sensitivity that it is measured by
    norm: ClassVar[int]

    def __post_init__(self) -> None:
        name = type(self).__name__
        if (self.privacy is None) == (self.scale is None):
            problem = "must be given" if self.privacy is None else "is given beside a guarantee, which sets it"
            raise InvalidArgument("scale", self.scale, problem, f"give {name} either a guarantee or scale=")
        if self.privacy is not None:
            accept_privacy(name, self.privacy, self.kinds, self.remedy)
        set_positive(self, "scale", "step")

    @classmethod
    def of_variance(cls, variance: float, *, step: float | None = None) -> Self:
        """The mechanism whose noise has this variance, as others publish it; on multiples of `step` if one is given.

        >>> import confide as cf
        >>> cf.Gaussian.of_variance(9.0), cf.Laplace.of_variance(8.0)
        (Gaussian(scale=3.0), Laplace(scale=2.0))
        >>> round(cf.Laplace.of_variance(1.0, step=1).scale, 6)  # 1/2 arsinh(1/√2)
        0.759326
        """
        remedy = "give the variance of the noise; a count without noise is no release"
        wanted = read_number("variance", variance, lambda v: 0 < v < math.inf, "is not a finite number above 0", remedy)
        with jax.enable_x64(True):

            def ratio(log_scale: float) -> float:
                made = cls(scale=math.exp(log_scale), step=step)
                return float(made.given_noise.variance) / wanted

            from scipy.optimize import brentq  # takes longer to load than this module with all that it needs

            # noise on the line has a variance in proportion to the square of its scale, and on a lattice less
            on_the_line = math.sqrt(wanted / float(cls(scale=1.0).given_noise.variance))
            start = end = math.log(on_the_line)
            if step is None or abs(ratio(start) - 1) < _SAME:
                return cls(scale=on_the_line, step=step)
            while ratio(end) < 1:
                end += 0.5
            return cls(scale=math.exp(brentq(lambda at: ratio(at) - 1, start - 1e-9, end, xtol=1e-15)), step=step)

    @property
    def given_noise(self) -> Noise:
        """The noise whose scale was given, and does not depend on what is published.

        >>> import confide as cf
        >>> float(cf.Laplace(scale=2.0).given_noise.variance)
        8.0
        """
        if self.scale is None:
            raise IncompatibleError(f"the noise of {self!r} follows from a statistic; look at Channel(…).law.added")
        return self._noise(self.scale)

    def calibrate(self, statistic: Statistic, n: int | None) -> AdditiveLaw:
        """The given noise, or the least that keeps the promise."""
        check_size(statistic, n)
        scale = self.scale
        if scale is None:
            assert self.privacy is not None
            scale = self._scale(self.privacy, statistic, n, positive_sensitivity(self, statistic, n, norm=self.norm))
        unrounded = self.step is not None and on_the_lattice(statistic, n, self.step)
        return AdditiveLaw(self._noise(scale), layout_of(statistic), unrounded)

    def guarantee(self, statistic: Statistic, n: int | None) -> Privacy:
        """The promised guarantee; for a given scale what follows from it."""
        sensitivity = positive_sensitivity(self, statistic, n, norm=self.norm)
        return self._kept(statistic, n, sensitivity) if self.privacy is None else self.privacy

    def replacing(self, statistic: Statistic) -> Privacy:
        """By the sensitivity to replacing a record, where noise of any width has a guarantee of the same kind.

        Noise that is wide enough for ‖s‖ keeps ε·Δ/‖s‖ (Laplace), μ·Δ/‖s‖ or ρ·(Δ/‖s‖)² (Gaussian) where a record is
        replaced, Δ the largest ‖s(x) − s(x')‖, on a lattice both in whole steps: nothing more than before for s ≥ 0.
        """
        promised = self.guarantee(statistic, None)
        if (persons := statistic.persons) is not None:
            # another person may have another number of rows; and one row that becomes another person's changes which
            # rows of both are used, which moves a sum by four of them, or less than two persons of two rows can
            return two_records(promised if persons.at_most > 1 else two_records(promised))
        added, replaced = (self._squared_moves(statistic, n) for n in (None, 1))
        if replaced <= added:
            return promised
        # a release rounds the ends of ranges outward to its grid, 2⁻²⁰ of the narrowest or less, which widens a
        # difference by more of itself than the largest number
        rounded = 1 if self.step is not None else (1 + Fraction(2 * statistic.dimension, 2**20)) ** 2
        return self._stretched(promised, min(replaced / added * rounded, Fraction(4)))

    def _squared_moves(self, statistic: Statistic, n: int | None) -> Fraction:
        """The square of the sensitivity, on a lattice in steps."""
        if self.step is not None:
            return Fraction(squared_steps(statistic, n, self.step, self.norm))
        return Fraction(float(statistic.sensitivity(n, norm=self.norm))) ** 2

    @abstractmethod
    def _stretched(self, promised: Privacy, squared: Fraction) -> Privacy:
        """The promise under a sensitivity that is larger, by a factor whose square is given and is at most 4."""

    @abstractmethod
    def _noise(self, scale: float) -> Noise:
        """The noise of a scale, on the lattice if there is one."""

    @abstractmethod
    def _scale(self, privacy: Privacy, statistic: Statistic, n: int | None, sensitivity: float) -> float:
        """The least scale that keeps a promise."""

    @abstractmethod
    def _kept(self, statistic: Statistic, n: int | None, sensitivity: float) -> Privacy:
        """The promise that the given scale keeps."""

    __repr__ = options_repr

    def __str__(self) -> str:
        lattice = "" if self.step is None else f" on multiples of {self.step:g}"
        if self.privacy is None:
            return f"{type(self).__name__} noise of scale {self.scale:g}{lattice}"
        return f"{type(self).__name__} noise{lattice}{',' if lattice else ''} for {self.privacy}"
