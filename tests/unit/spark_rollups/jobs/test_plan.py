"""Units of work: whole metrics, bounded, and every row in exactly one of them."""

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.rollups.archive import DAY, MINUTE, MONDAY, RollupArchive, labels

from spark_rollups.datasource import parquet_reader
from spark_rollups.datasource.archive_files import Archive, open_archive
from spark_rollups.jobs import plan as plan_module
from spark_rollups.jobs.plan import RollupRequest, groups, plan
from spark_rollups.jobs.rollup import rollup
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.jobs.unit import Unit, units_from, units_text
from spark_rollups.jobs.worker_tasks import LocalRunner
from spark_rollups.progress import SilentProgress
from spark_rollups.rollup.tables.reader import open_rollups

ORDER = ("metric", "consumer", "day", "hour", "value")
EVER = date(2000, 1, 1), date(2100, 1, 1)
DAYS = ["2026-09-28", "2026-09-29"]
METRICS = tuple(
    f"streamgauge_consumer_{name}"
    for name in ("deliveries_total", "lag_seconds", "num_pending", "verdict")
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    path = tmp_path_factory.mktemp("plan") / "archive"
    samples = [
        (labels(metric, system="s", consumer=f"c{number}", instance=instance),
         MONDAY + step * 20 * MINUTE, float(step * number))
        for metric in METRICS for number in range(3) for instance in "ab" for step in range(144)
    ]  # fmt: skip
    RollupArchive(path).add(samples, now=MONDAY + 5 * DAY)
    return open_archive(str(path))


FORECAST_INPUT = RollupRequest(
    METRICS, ("streamgauge_consumer_verdict",), METRICS[1:2], from_raw=False
)


def test_a_small_day_is_one_piece_of_each_kind(archive: Archive) -> None:
    units = plan(archive, DAYS, FORECAST_INPUT, slots=2)
    assert [(unit.day, unit.source, unit.makes) for unit in units] == [
        (day, source, makes)
        for day in DAYS
        for source, makes in (("hourly", "days"), ("samples", "shares"), ("samples", "quantiles"))
    ]
    assert units[0].metrics is None
    assert units[0].weight == 4 * 3 * 2 * 24
    assert units[1].metrics == ("streamgauge_consumer_verdict",)
    assert len({unit.name for unit in units}) == len(units)


def test_from_raw_reads_samples_and_where_counters_stood_the_day_before(archive: Archive) -> None:
    raw = RollupRequest(METRICS, (), (), from_raw=True)
    first, second = plan(archive, DAYS, raw, slots=2)
    assert (first.source, first.before) == ("samples", ())
    assert second.before == tuple(each.path for each in archive.days[DAYS[0]].hourly)
    assert second.before_source == "hourly"


def test_a_state_that_the_archive_does_not_know_makes_no_piece(archive: Archive) -> None:
    request = RollupRequest(METRICS, ("streamgauge_consumer_redelivery_cause",), (), from_raw=False)
    assert {unit.makes for unit in plan(archive, DAYS, request, slots=2)} == {"days"}


@pytest.mark.slow
@pytest.mark.parametrize("from_raw", [False, True])
def test_cut_as_small_as_can_be_the_tables_are_the_same(
    archive: Archive, from_raw: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By metrics, then by identities, with a batch for each row group."""

    def tables(name: str) -> list[object]:
        settings = RollupSettings(archive.root.text, str(tmp_path / name), from_raw=from_raw)
        rollup(settings, LocalRunner, SilentProgress())
        rollups = open_rollups(str(tmp_path / name))
        found = [rollups.table(each, *EVER) for each in ("daily", "hourly", "shares", "quantiles")]
        return [
            table.sort_by([(name, "ascending") for name in table.column_names if name in ORDER])
            for table in found
        ]

    whole = tables("whole")
    for name in ("MOST_ROWS", "LEAST_ROWS", "MOST_SAMPLES", "LEAST_SAMPLES"):
        monkeypatch.setattr(plan_module, name, 50)
    monkeypatch.setattr(parquet_reader, "_BATCH_ROWS", 1)
    units = plan(archive, DAYS, FORECAST_INPUT, slots=2)
    assert min(unit.buckets for unit in units) > 1
    assert all(len(unit.metrics or ()) == 1 for unit in units)
    assert tables("cut") == whole


def test_small_days_share_a_task_and_large_ones_do_not() -> None:
    small = [Unit(f"d{n}", "hourly", (), None, "days", 10) for n in range(60)]
    large = [Unit(f"d{n}", "hourly", (), None, "days", 1_000_000) for n in range(10)]
    assert [len(group) for group in groups(small, slots=2)] == [10] * 6
    assert [len(group) for group in groups(large, slots=2)] == [1] * 10
    assert groups([], slots=2) == []


def test_a_small_day_is_never_torn_apart() -> None:
    units = [Unit(f"d{n // 3}", "hourly", (), None, "days", 10) for n in range(30)]
    for group in groups(units, slots=3):
        assert len(group) % 3 == 0


def test_units_travel_as_text() -> None:
    units = [Unit("d", "samples", ("a", "b"), ("m",), "days", 3, "00001", 1, 2, "samples", ("c",))]
    assert units_from(units_text(units)) == units


def test_the_parts_of_a_large_metric_do_not_read_each_others_rows(tmp_path: Path) -> None:
    """Rows are sorted by series: a part skips the row groups of the others."""
    table = pa.table({"metric": ["m"] * 100, "series": pa.array(range(100), pa.int32())})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=10)
    metadata = pq.ParquetFile(tmp_path / "x.parquet").metadata
    assert parquet_reader.groups_with(metadata, ["m"], np.arange(20, 40)) == [2, 3]
    assert parquet_reader.groups_with(metadata, ["m"], np.array([5, 95])) == [0, 9]
    assert parquet_reader.groups_with(metadata, ["m"]) == list(range(10))
    assert parquet_reader.groups_with(metadata, ["other"], np.arange(100)) == []
