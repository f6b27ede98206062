"""A piece of work as a worker gets it, and what it answers: plain values that travel as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from spark_rollups.rollup.tables.manifest import RollupFile


@dataclass(frozen=True, slots=True)
class Job:
    """What all pieces of a run have in common."""

    archive: str
    out: str
    stamp: str  # what the names of this run's files begin with
    identities: tuple[str, ...]  # files beside the rollups
    hourly: tuple[str, ...]  # metrics that are kept by the hour
    states: tuple[str, ...]
    quantiles: tuple[str, ...]

    def text(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Unit:
    """One day, or the part of it that some metrics are."""

    day: str
    source: str  # the archive's table that is read: hourly or samples
    files: tuple[str, ...]
    metrics: tuple[str, ...] | None  # None: all
    makes: str  # days (the tables daily and hourly), shares or quantiles
    weight: int  # rows or samples to be read
    name: str = ""  # tells this unit's files from those of others
    bucket: int = 0  # of a metric too large for one piece: identities whose rank leaves this
    buckets: int = 1
    before_source: str = "hourly"
    before: tuple[str, ...] = ()  # files of the day before: where counters stood


@dataclass(frozen=True, slots=True)
class Outcome:
    """`error` is one line, and then nothing else counts."""

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
