"""The data source `streamgauge`: decoded samples with labels, filters pushed down, statistics."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.rollups.archive import DAY, HOUR, MINUTE, MONDAY, RollupArchive, Sample, labels

from spark_rollups.datasource.partitions import Selection, plan_partitions
from spark_rollups.datasource.reading import sample_batches
from spark_rollups.datasource.source import StreamgaugeSource
from spark_rollups.filesystem import RollupError
from spark_rollups.session import Session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LAG, PENDING = "streamgauge_consumer_lag_seconds", "streamgauge_consumer_num_pending"


def samples() -> list[Sample]:
    return [
        (labels(metric, system="s", stream=stream, consumer="c", zone="z"),
         MONDAY + number * DAY + step * 7 * MINUTE, step + 0.5)
        for metric in (LAG, PENDING) for stream in ("A", "B") for number in range(2)
        for step in range(20)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "archive"
    marker = (labels(LAG, system="s", stream="A", consumer="c", zone="z"), MONDAY + 9 * HOUR,
              0x7FF0000000000002)  # fmt: skip
    RollupArchive(path).add([*samples(), marker], now=MONDAY + 5 * DAY)
    return path


def test_samples_come_back_with_their_labels_and_without_markers(
    session: Session, archive: Path
) -> None:
    session.spark.dataSource.register(StreamgaugeSource)
    frame = session.spark.read.format("streamgauge").load(str(archive))
    found = sorted(
        (tuple(sorted(row["labels"].items())), round(row["time"].timestamp() * 1000), row["value"])
        for row in frame.collect()
    )
    assert found == sorted(samples())
    row = frame.where("stream = 'B' and metric like '%lag%'").first()
    assert (row["metric"], row["system"], row["server"]) == (LAG, "s", "")


def test_filters_on_metric_day_and_labels_are_pushed_down(session: Session, archive: Path) -> None:
    session.spark.dataSource.register(StreamgaugeSource)
    frame = session.spark.read.format("streamgauge").load(str(archive))
    some = frame.where(f"metric = '{LAG}' and day = DATE'2026-09-29' and stream in ('A', 'X')")
    assert some.count() == 20
    plan = some._jdf.queryExecution().executedPlan().toString()
    assert "BatchScan" in plan
    assert "Filter" not in plan.replace("RuntimeFilters", ""), plan


def test_partitions_of_other_days_and_metrics_are_not_planned(archive: Path) -> None:
    everything = plan_partitions(str(archive), None, Selection())
    assert {part.day for part in everything} == {"2026-09-28", "2026-09-29"}
    wanted = Selection()
    assert wanted.keep("day", ["2026-09-28"], labels=True)
    assert wanted.keep("metric", [LAG], labels=True)
    assert wanted.keep("consumer", ["c"], labels=True)
    assert not wanted.keep("value", [1.0], labels=True)
    assert not wanted.keep("consumer", ["c"], labels=False)
    assert {part.day for part in plan_partitions(str(archive), None, wanted)} == {"2026-09-28"}
    assert wanted.keep("metric", ["another"], labels=True)
    assert wanted.metrics == set()
    assert plan_partitions(str(archive), None, wanted) == []


def test_new_series_are_read_in_a_spark_that_read_the_archive_before(
    session: Session, tmp_path: Path
) -> None:
    """As in a notebook: its Python workers live on."""
    session.spark.dataSource.register(StreamgaugeSource)
    written = RollupArchive(tmp_path / "archive")
    for number, stream in enumerate("ABC", 1):
        one = (labels(LAG, system="s", stream=stream), MONDAY, 1.0)
        written.add([one], now=MONDAY + 5 * DAY)
        frame = session.spark.read.format("streamgauge").load(str(written.path))
        assert sorted(row["stream"] for row in frame.collect()) == list("ABC"[:number])
        assert frame.where(f"stream = '{stream}'").count() == 1


def test_samples_of_a_series_without_labels_are_an_error_not_left_out(tmp_path: Path) -> None:
    written = RollupArchive(tmp_path / "archive")
    for stream in "AB":
        one = (labels(LAG, system="s", stream=stream), MONDAY, 1.0)
        written.add([one], now=MONDAY + 5 * DAY)
    wanted = Selection()
    wanted.keep("stream", ["A"], labels=True)
    (part,) = plan_partitions(str(written.path), None, wanted)
    assert [len(rows) for rows in sample_batches(str(written.path), part, wanted)] == [1]
    with pytest.raises(RollupError, match="series 1 of samples is not in the table series"):
        list(sample_batches(str(written.path), replace(part, series=part.series - 1), wanted))


def test_null_in_a_list_of_a_filter_matches_nothing(session: Session, archive: Path) -> None:
    session.spark.dataSource.register(StreamgaugeSource)
    frame = session.spark.read.format("streamgauge").load(str(archive))
    for column, value in (("stream", "'A'"), ("metric", f"'{LAG}'"), ("day", "DATE'2026-09-28'")):
        both = frame.where(f"{column} in ({value}, NULL)")
        assert both.count() == frame.where(f"{column} = {value}").count() > 0
        assert frame.where(f"{column} in (NULL)").count() == 0
        assert frame.where(f"not {column} in ({value}, NULL)").count() == 0


def test_statistics_of_hours_are_one_row_per_series_and_hour(
    session: Session, archive: Path
) -> None:
    session.spark.dataSource.register(StreamgaugeSource)
    read = session.spark.read.format("streamgauge").option("aggregate", "hourly")
    rows = read.load(str(archive)).where(f"metric = '{LAG}' and count > 0").collect()
    assert len(rows) == 2 * 2 * 3
    assert sum(row["count"] for row in rows) == 80
    first = min(rows, key=lambda row: (row["hour"], row["series"]))
    assert (first["first"], first["last"], first["increase"], first["resets"]) == (0.5, 8.5, 8.0, 0)


def test_an_unknown_option_and_a_missing_archive_are_named(
    session: Session, tmp_path: Path, archive: Path
) -> None:
    session.spark.dataSource.register(StreamgaugeSource)
    read = session.spark.read.format("streamgauge")
    with pytest.raises(Exception, match="it can be none or hourly"):
        read.option("aggregate", "weekly").load(str(archive)).count()
    with pytest.raises(Exception, match="no archive here"):
        session.spark.read.format("streamgauge").load(str(tmp_path)).count()
