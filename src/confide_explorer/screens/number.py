"""The fourth screen: what a published number says, of the noise alone and of everything."""

from __future__ import annotations

from typing import Any

import numpy as np

from confide.channel import Channel
from confide.denoising import denoise
from confide.errors import InvalidArgument
from confide.inference import infer
from confide.published import Release
from confide.published.errors import FileError
from confide.published.file import parse
from confide.reporting import learning, publishing  # noqa: F401  # register their contents
from confide.reporting.content import Picture, content, within
from confide.reporting.publishing import published
from confide.reporting.script import script
from confide.reporting.source import Unwritable, source
from confide_cli import words
from confide_explorer.answer import Answer, Table, drawing, table
from confide_explorer.assumed import Assumed
from confide_explorer.fields import FieldReader
from confide_explorer.reading import bounds_for, read_plan
from confide_explorer.scripts import complete
from confide_explorer.state import PageState

#: cells of a table that are still shown one by one
_MOST_CELLS = 200


def held(text: str) -> Release:
    """The release of a file that was uploaded or pasted; its own numbers only, nothing beside it."""
    release = parse(text)
    if release.records is not None:
        problem = "the release is a table in a file beside it, which is not here; read it with confide infer"
        raise FileError(problem)
    return release


def read_foreign(state: PageState, plan: Assumed | None) -> tuple[Release | None, dict[str, str]]:
    """A number that somebody else published, by its statistic, its noise and how many records there were."""
    reader = FieldReader(state)
    statistic = reader("published", lambda text: _statistic(text, plan))
    scale = reader.number("scale")
    if scale is not None and scale <= 0:
        reader.wrong("scale", f"“{state.scale}” is not positive; give the scale of the noise in the number's own units")
    step = reader.number("step") if state.step else None
    noise = reader("noise", lambda text: words.choice("noise", text, ("laplace", "gaussian")))
    count = reader("count", lambda text: words.read_records(text or "private"))
    numbers = reader("value", _numbers)
    if reader.errors:
        return None, reader.errors
    options = "" if step is None else f", step={step!r}"

    def made(_: str) -> Release:
        mechanism = words.read_mechanism(f"{noise}(scale={scale!r}{options})", None)
        assert numbers is not None and statistic is not None
        return Release(Channel(statistic, mechanism, count), numbers[0] if len(numbers) == 1 else numbers)

    return reader("step" if step is not None and step <= 0 else "value", made), reader.errors


def _statistic(text: str, plan: Assumed | None) -> Any:
    what, own, mechanism = words.split_statistic(text)
    if not what:
        raise InvalidArgument("published", text, "does not say what was computed", "write for example: mean x on 0 1")
    if mechanism is not None:
        raise InvalidArgument("published", text, "names a mechanism", "leave out “with …”: the noise is said below")
    return words.read_statistic(what, bounds_for(what, own, plan))


def _numbers(text: str) -> list[float]:
    return [words.read_number("value", part) for part in text.replace(";", ",").split(",")]


def number(state: PageState, text: str) -> Answer:
    """The posterior beside what the noise alone says; of counts, what they were."""
    plan, _ = read_plan(state)
    if text:
        release: Release | None = held(text)
    else:
        release, errors = read_foreign(state, plan)
        assert release is not None, errors
    assert release is not None
    if release.channel.statistic.tallies or release.channel.statistic.counts:
        return _counts(release, state)
    assert plan is not None
    found = infer(plan.population, release, plan.prior, key=0)
    told, own = content(found), content(release)
    return Answer(
        told.answer,
        tables=(_beside(release, found), table("In full", told.columns, told.rows, legend=told.legend)),
        drawings=(*map(drawing, told.pictures), *map(drawing, own.pictures)),
        notes=(*_origin(release), own.answer, *told.notes),
        warnings=tuple(dict.fromkeys((*told.warnings, *own.warnings))),
        script=script(found),
    )


def _origin(release: Release) -> tuple[str, ...]:
    told = [f"data set {release.dataset}"] * (release.dataset is not None)
    told += [f"purpose: {release.purpose}"] * bool(release.purpose)
    return (f"The file says: {'; '.join(told)}.",) if told else ()


def _beside(release: Release, found: Any) -> Table:
    """Intervals side by side: of the statistic given the noise, and of the population given everything."""
    rows = []
    margin = release.channel.margin()
    if margin is not None:
        named = zip(release.channel.statistic.transforms, np.ravel(release.value).tolist(), strict=False)
        for transform, value in list(named)[:_MOST_CELLS]:
            ends = f"{within(value - margin, margin)} to {within(value + margin, margin)}"
            rows.append(("the noise alone", f"{release.channel.statistic.noun} {transform}, clipped", ends))
    for name in found.names:
        for low, high in zip(*(np.ravel(end) for end in found.interval(0.9)[name]), strict=True):
            rows.append(("noise, clipping and sample", f"the population's {name}", f"{low:.4g} to {high:.4g}"))
    legend = (("the noise alone", "what the statistic of these very records was, before noise"),)
    return table("With 90% probability", ("accounted for", "about", "between"), rows, legend=legend)


def _counts(release: Release, state: PageState) -> Answer:
    reader = FieldReader(state)
    total = reader("total", _total) if state.total else None
    known = denoise(release, totals=total)
    lows, highs = known.interval(0.9).T
    each = zip(known.cells, np.ravel(release.value).tolist(), known.mean, known.sd, lows, highs, strict=True)
    rows = [
        (name, value, f"{mean:.2f}", f"{sd:.2g}", f"{low:.0f} to {high:.0f}")
        for name, value, mean, sd, low, high in list(each)[:_MOST_CELLS]
    ]
    try:
        given = "" if total is None else f", totals={total!r}"
        lines = [f"release = {source(release)}", f"print(cf.denoise(release{given}))"]
        code = complete(lines)
    except Unwritable as error:
        code = f"# the release is not written here: it holds {error}"
    return Answer(
        f"What the true counts were, each within its interval with 90% probability ({known.prior}; {known.totals}).",
        tables=(table("Counts", ("cell", "published", "estimate", "±", "90% interval"), rows),),
        drawings=(drawing(Picture(known.plot(), "The true counts, with 90% intervals.")),),
        notes=(
            *_origin(release),
            *_below_zero(lows),
            f"Published: {published(release)}.",
            *str(release.channel).splitlines(),
        ),
        script=code,
    )


def _below_zero(lows: Any) -> tuple[str, ...]:
    """Why an interval of a count may begin below 0."""
    told = (
        "An interval that begins below 0 is meant: no count is left out beforehand, so that nine in ten intervals hold "
        "the true count, whatever it is. cf.denoise(release, nonnegative=True) leaves out what is below 0."
    )
    return (told,) if np.any(np.asarray(lows) < 0) else ()


def _total(text: str) -> int:
    value = words.read_number("total", text)
    if not float(value).is_integer() or value < 0:
        raise InvalidArgument("total", text, "is no total of counts", "give a whole number, or leave it out")
    return int(value)


def read_total(state: PageState) -> dict[str, str]:
    """What is wrong with the total."""
    reader = FieldReader(state)
    if state.total:
        reader("total", _total)
    return reader.errors
