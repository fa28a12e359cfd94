"""A plan as a file: JSON in the manner of release files, parsed strictly, checked completely and never executed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from confide.design import families as known_families
from confide.design.adaptive.words import population_text, prior_text, read_population, read_prior
from confide.errors import ConfideError, IncompatibleError
from confide.prior import Prior
from confide.privacy import Privacy
from confide.published import FileError, Release
from confide.published.codec import decode_channel, encode_channel
from confide.published.file import LARGEST_FILE, read_json, write_whole
from confide.published.schema import Asked, ChannelForm, Finite, Form, Name
from confide.published.terms import decode_privacy, encode_privacy
from confide.published.texts import visible
from confide.registry import FAMILIES

if TYPE_CHECKING:
    from confide.design.adaptive.plan import Adaptive

#: what a file says it is; the version changes when an older reader would misread it
FORMAT, VERSION = "confide-plan", 1
#: batches that a file may hold
_MOST = 100_000


class AnswerForm(Form):
    """A release: its channel, and what came out."""

    channel: ChannelForm
    value: Finite | Annotated[list[Finite], Field(min_length=1, max_length=1_000_000)]


class PlanForm(Form):
    """A plan, the releases so far, and the channel that it has asked for next, if it has."""

    format: Literal["confide-plan"]
    version: Literal[1]
    population: Name
    prior: Annotated[dict[str, Name], Field(min_length=1, max_length=2)]
    privacy: Asked
    batches: Annotated[list[Annotated[int, Field(ge=1, le=2**40)]], Field(min_length=1, max_length=_MOST)]
    families: Annotated[list[Name], Field(max_length=20)] | None = None
    candidates: Annotated[list[ChannelForm], Field(min_length=1, max_length=1000)] | None = None
    weights: Annotated[list[Finite], Field(min_length=1, max_length=2)] | None = None
    local: bool
    by: Literal["expected", "draw"]
    key: Annotated[int, Field(ge=0, lt=2**63)]
    releases: Annotated[list[AnswerForm], Field(max_length=_MOST)]
    next: ChannelForm | None = None


def encode(plan: Adaptive) -> dict[str, Any]:
    """The JSON object of a plan; refused where only the user's own program can make a part of it."""
    form: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "population": population_text(plan.population),
        "prior": prior_text(plan.prior),
        "privacy": encode_privacy(plan.privacy),
        "batches": list(plan.batches),
        "local": plan.local,
        "by": plan.by,
        "key": plan.key,
    }
    if plan.families is not None:
        form["families"] = [_family_text(each) for each in plan.families]
    if plan.candidates is not None:
        form["candidates"] = [encode_channel(each) for each in plan.channels_of(plan.candidates)]
    if plan.weights is not None:
        form["weights"] = [float(each) for each in plan.weights]
    form["releases"] = [
        {"channel": encode_channel(each.channel), "value": np.asarray(each.value).tolist()} for each in plan.releases
    ]
    if plan.asked is not None:
        form["next"] = encode_channel(plan.asked)
    return form


def _family_text(family: Any) -> str:
    for word, name in FAMILIES.items():
        if type(family) is getattr(known_families, name) and family == _family(word):
            return word
    raise IncompatibleError(f"{family!r} is a family of your own, which no file can describe; keep the plan in memory")


def _family(word: str) -> Any:
    if word not in FAMILIES:
        raise FileError(f"{word!r} is no family; it is one of {', '.join(FAMILIES)}")
    return getattr(known_families, FAMILIES[word])()


def decode(form: PlanForm) -> Adaptive:
    """The plan of a form, with its releases taken note of one after the other."""
    from confide.design.adaptive.verb import adapt

    population = read_population(form.population)
    privacy: Privacy = decode_privacy(form.privacy.model_dump())
    families: list[Any] | None = None if form.families is None else [_family(each) for each in form.families]
    if form.candidates is not None:
        families = [decode_channel(each).statistic for each in form.candidates]
    prior = Prior.of(population, read_prior(form.prior))
    plan = adapt(
        population, prior, privacy=privacy, batches=form.batches, families=families, local=form.local,
        weights=form.weights, by=form.by, key=form.key,
    )  # fmt: skip
    made = [Release(decode_channel(each.channel), each.value) for each in form.releases]
    plan.replay(made, None if form.next is None else decode_channel(form.next))
    return plan


def save(plan: Adaptive, path: Path) -> None:
    """Write a plan, whole or not at all."""
    try:
        text = json.dumps(encode(plan), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(path, text)
    except OSError as error:
        raise FileError(f"{path.name} cannot be written: {error.strerror or error}") from error


def load(path: Path) -> Adaptive:
    """Read a plan. Everything is checked; nothing is run."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise FileError(f"{path.name} cannot be read: {error.strerror or error}") from error
    if len(content) > LARGEST_FILE:
        raise FileError(f"{path.name} is larger than {LARGEST_FILE >> 20} MB, so it is no plan")
    form = read_json(content)
    if not isinstance(form, dict) or form.get("format") != FORMAT:
        raise FileError(f'the file is no plan: its "format" is not "{FORMAT}"')
    try:
        with np.errstate(all="ignore"):
            return decode(PlanForm.model_validate(form))
    except FileError:
        raise
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = visible(".".join(str(part) for part in first["loc"])[:200]) or "the file"
        raise FileError(f"{where} is not as a plan's file has it: {visible(first['msg'][:200])}") from None
    except ConfideError as error:
        raise FileError(f"the file describes no possible plan: {visible(str(error)[:500])}") from error
