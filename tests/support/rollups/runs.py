"""Runs rollups in tests and reads what they wrote."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from support.rollups.archive import Sample, rows_of
from support.rollups.oracle import Oracle, differences, order

from spark_rollups import metric_selection
from spark_rollups.jobs.rollup import Result, rollup
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.progress import SilentProgress
from spark_rollups.rollup.tables.reader import Rollups, open_rollups
from spark_rollups.rollup.tables.schemas import DAY_TABLES
from spark_rollups.session import Session

# Jobs of tests are short: the optimizing compiler would cost more than it gains.
CONF = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
}
COMMAND_CONF = [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]
EVER = date(2000, 1, 1), date(2100, 1, 1)


def run(session: Session | None, archive: Path | str, out: Path | str, **more: Any) -> Result:
    """Without a session Spark must not be started."""

    def start() -> Session:
        assert session is not None
        return session

    return rollup(RollupSettings(str(archive), str(out), **more), start, SilentProgress())


def sorted_rows(rollups: Rollups, name: str) -> list[dict[str, Any]]:
    return sorted(rows_of(rollups.table(name, *EVER)), key=order)


def all_rows(out: Path | str) -> dict[str, list[dict[str, Any]]]:
    rollups = open_rollups(str(out))
    return {name: sorted_rows(rollups, name) for name in DAY_TABLES}


def wrong(
    out: Path | str, samples: list[Sample], hourly: Sequence[str] = metric_selection.HOURLY
) -> list[str]:
    """The differences from the oracle."""
    oracle, rollups, found = Oracle(samples, hourly), open_rollups(str(out)), []
    for name in DAY_TABLES:
        rows = sorted_rows(rollups, name)
        assert rows, name
        found += [f"{name} {each}" for each in differences(rows, getattr(oracle, name)())]
    return found
