"""Whether several releases measure the same quantity, as far as their files tell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from confide.errors import InvalidArgument
from confide.published import Release


def check_quantity(releases: Sequence[Release], said: bool | None) -> None:
    """Refuse releases that name different quantities, unless the reader says that they are one.

    One population describes one quantity. Releases of two columns are about two, and so may be those of two data sets
    that do not name the same column. What names nothing (a number typed in by hand) contradicts nothing.
    """
    if said is not None and not isinstance(said, bool | np.bool_):
        raise InvalidArgument("same_quantity", said, "is not True or False", "say whether the releases measure one")
    remedy = (
        "say same_quantity=True if one population describes both (and, for the same records, both columns hold the "
        "same numbers), or infer from each by itself"
    )
    if said is not None and not said and len(releases) > 1:
        problem = "cannot be: one population describes all releases, with one set of parameters"
        raise InvalidArgument("same_quantity", said, problem, "infer from each release by itself")
    for one, two in combinations(releases, 2):
        if not said and _differ(one, two):
            problem = f"is not said, and the releases are about {_named(one)} and {_named(two)}"
            raise InvalidArgument("same_quantity", said, problem, remedy)


def _differ(one: Release, two: Release) -> bool:
    """Whether what two releases name is not the same: two columns, or two data sets without a column in common."""
    if one.column is not None and two.column is not None:
        return one.column != two.column
    return one.dataset is not None and two.dataset is not None and one.dataset != two.dataset


def _named(release: Release) -> str:
    column = "an unnamed column" if release.column is None else f"column {release.column!r}"
    return column if release.dataset is None else f"{column} of {release.dataset!r}"
