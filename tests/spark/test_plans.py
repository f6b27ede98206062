"""The plans: identities of series on random labels, and the operators that the docs show."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nats.servers import long_run
from support.rollups.archive import DAY, MINUTE, MONDAY, RollupArchive, labels
from support.rollups.oracle import FOLDED, SUBJECT_LABELS, identity, identity_columns

from spark_rollups.forecasting.plans import forecasts, trends
from spark_rollups.jobs.archive_days import open_archive
from spark_rollups.jobs.day_tables import DayTables
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.rollup.series_dimension import FOLDED_LABELS, series_dimension
from spark_rollups.rollup.tables.delta_writer import arranged
from spark_rollups.rollup.tables.schemas import DAILY, DAY_TABLES, HOURLY_GAUGES
from spark_rollups.session import Session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
DOCS = Path(__file__).parents[2] / "docs" / "rollups.md"
NAMES = st.sampled_from([*SUBJECT_LABELS, *sorted(FOLDED - {"__name__"})[:3], "by", "le", "z\n"])
LABELS = st.dictionaries(NAMES, st.sampled_from(["", "a", "b", "a|b", "ä=1,b"]), max_size=5)
METRIC = st.sampled_from(
    ["streamgauge_stream_bytes", "streamgauge_consumer_acks_total", "x_total", "x_bucket", "x"]
)
SERIES = st.lists(st.tuples(METRIC, LABELS), min_size=1, max_size=60)


@settings(deadline=None, max_examples=40 if long_run() else 4, derandomize=True)
@given(SERIES)
def test_series_are_one_identity_if_they_differ_in_labels_of_the_scrape_alone(
    session: Session, found: list[tuple[str, dict[str, str]]]
) -> None:
    unique = sorted({labels(metric, **more) for metric, more in found})
    rows = [
        (number, bytes([number % 7, number]), dict(each)["__name__"], dict(each))
        for number, each in enumerate(unique)
    ]
    frame = session.spark.createDataFrame(
        rows, "series int, fingerprint binary, metric string, labels map<string, string>"
    )
    groups: dict[Any, list[int]] = {}
    for number, each in enumerate(unique):
        groups.setdefault(identity(each), []).append(number)
    dimension = series_dimension(session.spark, frame, FOLDED_LABELS).collect()
    assert len(dimension) == len(unique)
    for row in dimension:
        key = identity(unique[row["series"]])
        mine = groups[key]
        assert (row["identity"], row["copies"]) == (mine[0], len(mine))
        order = sorted(mine, key=lambda number: rows[number][1])
        assert row["place"] == order.index(row["series"]) + 1
        wanted = identity_columns(key)
        assert {name: row[name] for name in wanted} == wanted


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans") / "archive"
    who = {"system": "s", "account": "A", "stream": "S", "consumer": "c"}
    samples = [
        (labels(f"streamgauge_consumer_{name}", **who), MONDAY + step * MINUTE, float(step))
        for name in ("lag_seconds", "verdict")
        for step in range(5)
    ]
    RollupArchive(path).add(samples, now=MONDAY + 5 * DAY)
    return path


@pytest.fixture(scope="module")
def written(session: Session, archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The frame that each job writes."""
    from pyspark.sql.pandas.types import from_arrow_schema

    settings = RollupSettings(str(archive), "")
    tables = DayTables(session, open_archive(str(archive)), ["2026-09-28"], settings)
    tables._pairs = False
    daily, hourly = (
        session.spark.read.schema(from_arrow_schema(schema)).parquet(
            str(tmp_path_factory.mktemp(name))
        )
        for name, schema in (("daily", DAILY), ("hourly", HOURLY_GAUGES))
    )
    day = date(2026, 9, 28)
    frames = {name: getattr(tables, name)() for name in DAY_TABLES}
    frames["trends"] = trends(daily, day).hint("rebalance", "as_of")
    frames["forecasts"] = forecasts(hourly, daily, day).hint("rebalance", "as_of")
    return {name: arranged(frame, name) for name, frame in frames.items()}


OPERATOR = re.compile(
    r"^[ :+-]*(FileScan|BroadcastHashJoin|HashAggregate|Exchange|Sort|Window|FlatMapGroupsInArrow)\b"
    r"(?: hashpartitioning\(| \[|\(keys=\[| )?([^\])]*)"
)


def short(plan: str) -> list[str]:
    """The operators on the way of the facts, from the write down to their scan, with the keys."""
    lines = []
    for line in plan.splitlines():
        if not (match := OPERATOR.match(line)):
            continue
        name, keys = match[1], [word.split("#")[0] for word in match[2].split(", ") if "#" in word]
        shown = ", ".join(key.strip() for key in keys) if name not in ("FileScan", "Window") else ""
        lines.append(f"{name} {shown}".strip())
        if name == "FileScan":
            break
    return lines


def documented() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    block = DOCS.read_text().partition("```text\nwrite")[2].partition("```")[0]
    for line in f"write{block}".splitlines():
        if line.startswith("write "):
            lines = found[line.removeprefix("write ")] = []
        elif line:
            lines.append(line.strip())
    return found


def test_the_docs_show_the_operators_that_spark_explains(written: Any) -> None:
    plans = {
        name: short(frame._jdf.queryExecution().executedPlan().toString())
        for name, frame in written.items()
    }
    text = "\n".join(line for name, lines in plans.items() for line in (f"write {name}", *lines))
    assert documented() == plans, text
