"""Tasks as JSON, and a runner that executes them in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from spark_rollups.filesystem import RollupError, Root
from spark_rollups.forecasting.snapshot.batches import run_batch
from spark_rollups.jobs.unit import (
    Job,
    Outcome,
    Unit,
    job_from,
    outcome_from,
    units_from,
    units_text,
)
from spark_rollups.jobs.unit_execution import run_unit
from spark_rollups.rollup.series_identity import write_identities


class LocalRunner:
    """Runs tasks one after the other without Spark, for tests and small tasks."""

    slots = 1

    def run(self, tasks: Sequence[str]) -> Iterator[tuple[int, str]]:
        for index, task in enumerate(tasks):
            yield index, run_task(task)


def units_task(job: Job, units: list[Unit]) -> str:
    return json.dumps({"job": job.text(), "units": units_text(units)})


def identities_task(archive: str, path: str, out: str, to: str, folded: Sequence[str]) -> str:
    arguments = {"archive": archive, "path": path, "out": out, "to": to, "folded": list(folded)}
    return json.dumps({"identities": arguments})


def run_task(text: str) -> str:
    task = json.loads(text)
    if "batch" in task:
        return run_batch(**task["batch"])
    if "identities" in task:
        return _write_identities(**task["identities"])
    job = job_from(task["job"])
    return json.dumps([run_unit(job, unit).text() for unit in units_from(task["units"])])


def outcomes_from(result: str) -> list[Outcome]:
    return [outcome_from(each) for each in json.loads(result)]


def _write_identities(archive: str, path: str, out: str, to: str, folded: list[str]) -> str:
    try:
        rows = write_identities(Root(archive), path, Root(out), to, folded)
    except RollupError as error:
        return _one(Outcome("", error=str(error)))
    return _one(Outcome("", rows=rows))


def _one(outcome: Outcome) -> str:
    return json.dumps([outcome.text()])
