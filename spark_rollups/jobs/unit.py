"""Units of work and their outcomes, serialized as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from spark_rollups.rollup.tables.manifest import RollupFile


@dataclass(frozen=True, slots=True)
class Job:
    """What all units of a run share."""

    archive: str
    out: str
    stamp: str  # prefix of the file names of this run
    identities: tuple[str, ...]  # identity files of the rollups
    hourly: tuple[str, ...]  # metrics of the hourly table
    states: tuple[str, ...]
    quantiles: tuple[str, ...]

    def text(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Unit:
    """One day, or some metrics of it."""

    day: str
    source: str  # the table of the archive: hourly or samples
    files: tuple[str, ...]
    metrics: tuple[str, ...] | None  # None: all
    makes: str  # days (the tables daily and hourly), shares or quantiles
    weight: int  # rows or samples to be read
    name: str = ""  # part of its file names
    bucket: int = 0  # of a metric too large for one unit
    buckets: int = 1
    before_source: str = "hourly"
    before: tuple[str, ...] = ()  # files of the day before, for counters


@dataclass(frozen=True, slots=True)
class Outcome:
    """With an `error`, which is one line, the other fields are void."""

    day: str
    hours: int = 0
    rows: int = 0
    tables: Mapping[str, tuple[RollupFile, ...]] = field(default_factory=dict)
    error: str = ""

    def text(self) -> str:
        return json.dumps(asdict(self))


def job_from(text: str) -> Job:
    return Job(**_tuples(json.loads(text)))


def units_text(units: list[Unit]) -> str:
    return json.dumps([asdict(unit) for unit in units])


def units_from(text: str) -> list[Unit]:
    return [Unit(**_tuples(entry)) for entry in json.loads(text)]


def outcome_from(text: str) -> Outcome:
    entry = json.loads(text)
    tables = {
        table: tuple(RollupFile(**each) for each in files)
        for table, files in entry["tables"].items()
    }
    return Outcome(**{**entry, "tables": tables})


def _tuples(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
