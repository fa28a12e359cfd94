"""The form of what `--json` prints, as published JSON Schemas."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from confide.published.schema import ChannelForm, EntryForm, Guarantee, ReleaseForm, json_schema

Numbers = list[float | None]
Matrix = list[Numbers]
#: one number for a scalar parameter, several for a vector; null where it is not known
Each = float | None | Numbers


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid")


class InformationForm(_Input):
    """`confide information --json`."""

    command: Literal["information"]
    channel: ChannelForm
    parameters: list[str]
    theta: list[Numbers]
    matrix: list[Matrix]
    standard_error: list[Matrix]
    efficiency: Numbers | None
    method: str
    exact: bool


class CompareForm(_Input):
    """`confide compare --json`."""

    command: Literal["compare"]
    criterion: str
    best: str | None
    verdict: str
    channels: dict[str, ChannelForm]
    rows: Annotated[list[dict[str, float | str | None]], Field(min_length=1)]


class OptimizeForm(_Input):
    """`confide optimize --json`."""

    command: Literal["optimize"]
    best: ChannelForm
    words: str
    explanation: str
    rows: Annotated[list[dict[str, float | str | None]], Field(min_length=1)]


class StudyForm(_Input):
    """`confide study --json`."""

    command: Literal["study"]
    rows: Annotated[list[dict[str, float | str | None]], Field(min_length=1)]
    computed: int
    found: int
    notes: list[str]


class ParameterForm(_Input):
    """What is known about one parameter."""

    mean: Each
    sd: Each
    low: Each
    high: Each
    ess: Each
    r_hat: Each


class ContrastForm(_Input):
    """How far apart two groups are, given what was published about each."""

    parameter: str
    kind: str
    mean: float
    sd: float
    low: float
    high: float
    larger: float


class InferForm(_Input):
    """`confide infer --json`."""

    command: Literal["infer"]
    probability: Annotated[float, Field(gt=0, lt=1)]
    parameters: dict[str, ParameterForm]
    method: str
    route: str
    acceptance: float | None
    warnings: list[str]
    complete: bool
    claims: dict[str, float]
    log_evidence: float | None
    contrast: ContrastForm | None
    plan: str | None


class SetForm(_Input):
    """The estimate of one parameter, and its confidence set: null where an end is infinite."""

    estimate: float
    set: list[Numbers]


class TestForm(_Input):
    """A hypothesis about one parameter."""

    parameter: str
    value: float
    p_value: float


class GroupsForm(_Input):
    """How far apart two groups are, as a confidence set."""

    parameter: str
    kind: str
    estimate: float
    set: list[Numbers]
    conservative: bool
    p_value: float


class EstimateForm(_Input):
    """`confide estimate --json`."""

    command: Literal["estimate"]
    level: Annotated[float, Field(gt=0, lt=1)]
    parameters: dict[str, SetForm]
    method: str
    route: str
    notes: list[str]
    tests: list[TestForm]
    contrast: GroupsForm | None


class RequireForm(_Input):
    """`confide require --json`."""

    command: Literal["require"]
    channel: ChannelForm
    privacy: Guarantee
    n: int
    sd: dict[str, float]
    asked: dict[str, float]
    error: float


class DatasetForm(_Input):
    """One data set of a ledger."""

    dataset: str
    budget: Guarantee
    #: which data sets are neighbours in what the budget limits
    neighbours: Literal["replace-one", "add-remove"]
    spent: Guarantee | None
    left: Guarantee | None
    releases: list[ReleaseForm]
    #: when each of them was made, as 2026-11-18
    days: list[str]


class LedgerForm(_Input):
    """`confide ledger --json`."""

    command: Literal["ledger"]
    ledger: str
    datasets: list[DatasetForm]


class AccountForm(_Input):
    """`confide account --json`."""

    command: Literal["account"]
    releases: int
    guarantee: Guarantee
    adaptive: Guarantee


class VerifyForm(_Input):
    """`confide verify --json`."""

    command: Literal["verify"]
    file: str
    sound: bool
    confirmed: bool | None
    entry: EntryForm | None
    words: str


class DenoiseForm(_Input):
    """`confide denoise --json`."""

    command: Literal["denoise"]
    prior: str
    totals: str
    #: mean, sd and the ends of the interval of each cell's true count
    cells: dict[str, dict[str, float]]
    probability: float
    claims: dict[str, float]
    #: the edges between which each quantile lies; null where there is none
    quantiles: dict[str, list[float | None]]


class AdaptForm(_Input):
    """`confide adapt --json`."""

    command: Literal["adapt"]
    file: str
    answered: int
    batches: int
    done: bool
    #: mean and sd of each parameter
    estimate: dict[str, dict[str, float | None]]
    next: ChannelForm | None
    part: str | None
    words: str | None


class AuditFailureForm(_Input):
    """One way in which a record shows more than it may."""

    problem: str
    reader: str
    reproduction: str


class AuditForm(_Input):
    """`confide audit --json`."""

    command: Literal["audit"]
    channel: ChannelForm
    passed: bool
    seed: int
    pairs: int
    tables: int
    #: None: a private number
    records: list[int | None]
    tried: dict[str, int]
    refused: dict[str, int]
    failures: list[AuditFailureForm]


_FORMS: dict[str, type[BaseModel]] = {
    "information": InformationForm,
    "compare": CompareForm,
    "optimize": OptimizeForm,
    "study": StudyForm,
    "infer": InferForm,
    "estimate": EstimateForm,
    "require": RequireForm,
    "ledger": LedgerForm,
    "account": AccountForm,
    "verify": VerifyForm,
    "denoise": DenoiseForm,
    "adapt": AdaptForm,
    "audit": AuditForm,
}
NAMES = ("release", *_FORMS)


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of a command's output; that of `release` is also the schema of release files.

    >>> schema_of("infer")["title"]
    'What confide infer --json prints'
    """
    if name == "release":
        return json_schema()
    schema = _FORMS[name].model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = f"What confide {name} --json prints"
    return schema
