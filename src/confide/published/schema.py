"""The form of a release file, as pydantic models: strict types, no unknown fields, nothing without limits.

Changing anything here in a way that old readers would misunderstand needs a new version.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from confide.published.texts import plain, plain_lines
from confide.registry import MECHANISMS, MOST_CATEGORIES, NUMBER_LIMITS, STATISTICS

#: limits on what a file may hold: far beyond any use, far below any harm
MOST_EXPRESSIONS = 1000
MOST_CHARACTERS = 100_000
MOST_VALUES = 1_000_000
LARGEST_COUNT = 2**1000
MOST_RECORDS = 2**53
MOST_COLUMNS = 1000
LARGEST_LEVEL, SMALLEST_DELTA = 1e12, 1e-300

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(plain)]
Text = Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
#: a step as an exact fraction of whole numbers, "1/1048576"
Rational = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,399}(/[1-9][0-9]{0,399})?$")]


Pair = Annotated[list[Finite], Field(min_length=2, max_length=2)]
Categories = Annotated[list[Name], Field(min_length=1, max_length=MOST_CATEGORIES)]


def _one_of(kind: dict[str, str]) -> tuple[Any, ...]:
    """A name among those of a kind, for checking and for the published schema."""
    names: list[Any] = list(kind.values())

    def known(name: str) -> str:
        if name not in names:
            raise ValueError(f"is none of {', '.join(names)}")
        return name

    return Field(max_length=100, json_schema_extra={"enum": names}), AfterValidator(known)


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


#: an object with its fields and no others, for files of other kinds
Form = _Form


class Pure(_Form):
    """ε-differential privacy."""

    kind: Literal["PureDP"]
    epsilon: Positive


class Approximate(_Form):
    """(ε, δ)-differential privacy."""

    kind: Literal["ApproxDP"]
    epsilon: Positive
    delta: Annotated[float, Field(gt=0, lt=1)]


class Concentrated(_Form):
    """ρ-zero-concentrated differential privacy."""

    kind: Literal["ZCDP"]
    rho: Positive


class GaussianPrivacy(_Form):
    """μ-Gaussian differential privacy."""

    kind: Literal["GDP"]
    mu: Positive


class NoPrivacy(_Form):
    """No guarantee."""

    kind: Literal["Unlimited"]


Guarantee = Annotated[Pure | Approximate | Concentrated | GaussianPrivacy | NoPrivacy, Field(discriminator="kind")]


def _within_reason(privacy: Any) -> Any:
    """A guarantee that a mechanism is calibrated to: for numbers like 1e-300 that may take for ever."""
    levels = {name: value for name, value in privacy if name != "kind"}
    delta = levels.pop("delta", SMALLEST_DELTA)
    if delta < SMALLEST_DELTA or not all(1 / LARGEST_LEVEL <= level <= LARGEST_LEVEL for level in levels.values()):
        raise ValueError(f"a guarantee needs parameters from {1 / LARGEST_LEVEL:g} to {LARGEST_LEVEL:g}")
    return privacy


Asked = Annotated[Guarantee, AfterValidator(_within_reason)]


def _short_in_all(expressions: list[str]) -> list[str]:
    """Expressions whose analysis takes seconds at most: what one of them may be, all of them together may be."""
    if sum(map(len, expressions)) > MOST_CHARACTERS:
        raise ValueError(f"expressions have at most {MOST_CHARACTERS:,} characters in all")
    return expressions


class CutForm(_Form):
    """A column of a histogram, by its edges or its public list of categories."""

    column: Name
    edges: Annotated[list[Finite], Field(min_length=1, max_length=MOST_EXPRESSIONS)] | None = None
    categories: Annotated[list[Name], Field(min_length=1, max_length=MOST_EXPRESSIONS)] | None = None


#: the numbers that statistics of the registry are made with, each within its limits
_Numbers = create_model(
    "_Numbers",
    __base__=_Form,
    **{name: (Annotated[float, Field(**limits)] | None, None) for name, limits in NUMBER_LIMITS.items()},  # type: ignore
)


class StatisticForm(_Numbers):  # type: ignore[misc, valid-type]
    """What was computed: expressions in the safe language, on records clipped to the bounds; or counts of cells."""

    kind: Annotated[str, *_one_of(STATISTICS)]
    expressions: (
        Annotated[list[Text], Field(min_length=1, max_length=MOST_EXPRESSIONS), AfterValidator(_short_in_all)] | None
    ) = None
    #: of the one column x, or of each column of numbers by name
    bounds: Pair | Annotated[dict[Name, Pair], Field(max_length=MOST_COLUMNS)] | None = None
    #: the columns of a histogram
    cells: Annotated[list[CutForm], Field(min_length=1, max_length=MOST_COLUMNS)] | None = None
    #: the public lists of columns of text
    categories: Annotated[dict[Name, Categories], Field(min_length=1, max_length=MOST_COLUMNS)] | None = None
    #: the column that says whose row it is, and how many rows of one person were used at most
    person: Name | None = None
    at_most: Annotated[int, Field(ge=1, le=2**20)] | None = None


class MechanismForm(_Form):
    """How noise was added, and the options that were given."""

    kind: Annotated[str, *_one_of(MECHANISMS)]
    privacy: Asked | None = None
    scale: Positive | None = None
    step: Positive | None = None
    alpha: Positive | None = None
    beta: Positive | None = None
    cap: Annotated[int, Field(ge=1, le=MOST_RECORDS)] | None = None
    #: how many answers each column has, where each is answered by itself
    columns: Annotated[list[Annotated[int, Field(ge=2, le=1024)]], Field(min_length=2, max_length=10)] | None = None


class ChannelForm(_Form):
    """All that was public before the release."""

    statistic: StatisticForm
    mechanism: MechanismForm
    #: absent where it is private
    n: Annotated[int, Field(ge=1, le=MOST_RECORDS)] | None = None
    neighbours: Literal["replace-one", "add-remove"]
    #: of tables: one row is protected, not a person, who may have several; or one person with all rows
    protects: Literal["one row", "one person"] | None = None


class RowsForm(_Form):
    """A part by position."""

    kind: Literal["rows"]
    start: Annotated[int, Field(ge=0, lt=2**63)]
    stop: Annotated[int, Field(ge=1, lt=2**63)]


class HashedForm(_Form):
    """A part by the hash of a public identifier."""

    kind: Literal["hashed"]
    column: Name
    start: Annotated[float, Field(ge=0, lt=1)]
    stop: Annotated[float, Field(gt=0, le=1)]


class NamedForm(_Form):
    """A part that is only a name: it promises nothing about who is in it."""

    kind: Literal["named"]
    name: Name


class GroupedForm(_Form):
    """The records whose public attribute has a certain value."""

    kind: Literal["grouped"]
    column: Name
    value: Name


PartForm = Annotated[RowsForm | HashedForm | NamedForm | GroupedForm, Field(discriminator="kind")]


class CountsForm(_Form):
    """Noisy whole numbers and their step."""

    counts: Annotated[
        list[Annotated[int, Field(ge=-LARGEST_COUNT, le=LARGEST_COUNT)]],
        Field(min_length=1, max_length=MOST_EXPRESSIONS),
    ]
    step: Rational


class RecordsForm(_Form):
    """The table of an `Each` release, a Parquet file beside this one."""

    file: Annotated[str, Field(pattern=r"^[^/\\\x00]{1,255}$"), AfterValidator(plain)]
    digest: Digest
    step: Rational


class EntryForm(_Form):
    """The entry of the ledger that paid: which ledger, which of the data set's entries, and its seal."""

    ledger: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    position: Annotated[int, Field(ge=1, lt=2**63)]
    seal: Digest


class ClampedForm(_Form):
    """Numbers beyond an end were published as that end."""

    kind: Literal["Clamped"]
    low: Finite | None = None
    high: Finite | None = None


class RoundedForm(_Form):
    """Numbers were rounded to the nearest multiple."""

    kind: Literal["Rounded"]
    to: Positive


class SuppressedForm(_Form):
    """Small numbers were left out: they are null."""

    kind: Literal["Suppressed"]
    below: Finite


class ProvenanceForm(_Form):
    """Digests of the channel, of what came out, and of everything; and the entry of the ledger that paid."""

    channel: Digest
    outcome: Digest
    entry: EntryForm | None = None
    digest: Digest


class ReleaseForm(_Form):
    """One release. Exactly one of `value` alone, `value` with `integers`, and `records` says what came out."""

    format: Literal["confide-release"]
    version: Literal[1, 2, 3]
    channel: ChannelForm
    guarantee: Guarantee
    #: the scale of noise that a guarantee was calibrated to: another version may calibrate better, and must not read
    #: less noise into this value than it has
    noise: Positive | None = None
    dataset: Name | None = None
    part: PartForm | None = None
    column: Name | Annotated[dict[Name, Name], Field(min_length=1, max_length=MOST_COLUMNS)] | None = None
    purpose: Annotated[str, Field(max_length=MOST_CHARACTERS), AfterValidator(plain_lines)] = ""
    missing: Finite | Literal["public"] | Annotated[dict[Name, Finite], Field(min_length=1)] | None = None
    value: Finite | Annotated[list[Finite | None], Field(min_length=1, max_length=MOST_VALUES)] | None = None
    #: what was done to the noisy number before it was published
    processed: Annotated[ClampedForm | RoundedForm | SuppressedForm, Field(discriminator="kind")] | None = None
    integers: CountsForm | None = None
    records: RecordsForm | None = None
    provenance: ProvenanceForm | None = None


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of a release file.

    >>> json_schema()["title"]
    'A release of Confide'
    """
    schema = ReleaseForm.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "A release of Confide"
    return schema
