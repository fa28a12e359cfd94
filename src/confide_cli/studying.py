"""`study`: simulated releases and how their posteriors err, on as many processes as there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import confide as cf
from confide_cli import words
from confide_cli.build import assumed_of, channels_of, population_of, prior_of
from confide_cli.show import emit, say, table
from confide_cli.study import Arguments, UsageProblem


def study(told: Arguments, keep: Path | None, workers: int | None, dask: str | None, as_json: bool) -> None:
    """Simulate releases through each channel, infer from all of them, and say how far off the answers are."""
    population = population_of(told)
    prior = prior_of(told, population)
    theta = told.get("theta")
    truth = None if theta is None else words.read_theta(theta, population.dimension)
    if workers is not None and dask is not None:
        raise UsageProblem("give --workers or --dask, but not both")
    with _executor(workers, dask) as executor:
        found = cf.study(
            population,
            channels_of(told),
            prior=prior,
            theta=truth,
            path=keep,
            executor=executor,
            **assumed_of(told),
            **told.chosen("releases", "key", "route"),
        )
    rows: list[dict[str, Any]] = found.table.to_dict(orient="records")
    result = {
        "command": "study", "rows": rows, "computed": found.computed, "found": found.found, "notes": list(found.notes),
    }  # fmt: skip

    def show() -> None:
        names = ["parameter", "theta", "mse", "mse_se", "bias", "posterior_variance", "predicted_variance"]
        table(rows, ["strategy", *names, *(name for name in rows[0] if name.startswith("coverage"))])
        say(f"{found.computed} cells computed, {found.found} found on disk.")
        for note in found.notes:
            say(note)

    emit(as_json, result, show)


@contextmanager
def _executor(workers: int | None, dask: str | None) -> Iterator[Any]:
    """Processes of our own, a Dask cluster that somebody started, or this process."""
    if workers is not None:
        with cf.Workers(workers) as pool:
            yield pool
    elif dask is not None:
        with _client(dask) as client:
            yield client.get_executor()
    else:
        yield None


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise UsageProblem('--dask needs dask.distributed; pip install "confide[dask]"') from None
    try:
        return Client(address, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        remedy = "start one with dask scheduler, and give its address, such as --dask tcp://127.0.0.1:8786"
        raise UsageProblem(f"--dask {address} cannot be reached ({type(error).__name__}); {remedy}") from None
