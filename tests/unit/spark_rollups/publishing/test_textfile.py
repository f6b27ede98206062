"""Forecasts as gauges and as text: names and labels of the catalogue, valid in both formats."""

from __future__ import annotations

import stat
import subprocess
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain_text

from exporter import catalog
from exporter.metric import Kind, Origin
from exporter.polling.forecast_file import read_forecasts
from spark_rollups.filesystem import RollupError
from spark_rollups.publishing.gauges import PUBLISHED, Gauge, Gauges, gauges_of
from spark_rollups.publishing.textfile import text_of, write_textfile
from spark_rollups.rollup.tables.schemas import FORECASTS, HORIZONS, QUANTILES_AHEAD
from streamgauge.demo.processes.programs import prometheus

AS_OF = date(2026, 11, 15)
SUCCESS = 1_794_800_000.0
LEVELS = {f"level_{days}d_q{q}": days * 1000.0 + q for days in HORIZONS for q in QUANTILES_AHEAD}


def row(**changes: Any) -> dict[str, Any]:
    """A stream whose bytes reach their limit in December."""
    return {
        "as_of": AS_OF,
        "subject": "stream",
        "metric": catalog.STREAM_BYTES.name,
        "limit_metric": catalog.STREAM_MAX_BYTES.name,
        "limit_name": "bytes",
        "system": "demo",
        "account": "APP",
        "stream": "PAYMENTS",
        "server": "",
        "level": 900.0,
        "limit": 1000.0,
        "outlook": "act",
        "reason": "",
        "earliest": date(2026, 12, 4),
        "likely": date(2026, 12, 7),
        "latest": date(2026, 12, 9),
        "model": "linear increments",
        "days": 58,
        "dropped": 0,
        **LEVELS,
        **changes,
    }


def account(**changes: Any) -> dict[str, Any]:
    named = {"metric": catalog.ACCOUNT_STORAGE_USED_BYTES.name, "limit_name": "storage"}
    return row(subject="account", stream="", **{**named, **changes})


SERVER = row(
    subject="server", metric=catalog.SERVER_STORAGE_USED_BYTES.name, limit_name="storage",
    account="", stream="", server="n1",
)  # fmt: skip
NO_DATES = {"earliest": None, "likely": None, "latest": None}


def made(*rows: dict[str, Any]) -> Gauges:
    return gauges_of(pa.Table.from_pylist(list(rows), schema=FORECASTS), SUCCESS, AS_OF)


def values(found: Gauges, metric: Any) -> dict[tuple[str, ...], float]:
    return {gauge.labels: gauge.value for gauge in found.gauges if gauge.metric is metric}


def seconds(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def test_levels_carry_horizon_and_quantile() -> None:
    found = values(made(row()), catalog.FORECAST_STREAM_BYTES)
    assert len(found) == 9
    assert found["demo", "APP", "PAYMENTS", "7d", "0.1"] == 7010.0
    assert found["demo", "APP", "PAYMENTS", "90d", "0.9"] == 90090.0


def test_the_high_quantile_has_the_earliest_date() -> None:
    found = values(made(row()), catalog.FORECAST_STREAM_FULL_TIMESTAMP_SECONDS)
    assert found == {
        ("demo", "APP", "PAYMENTS", "bytes", "0.9"): seconds(date(2026, 12, 4)),
        ("demo", "APP", "PAYMENTS", "bytes", "0.5"): seconds(date(2026, 12, 7)),
        ("demo", "APP", "PAYMENTS", "bytes", "0.1"): seconds(date(2026, 12, 9)),
    }


def test_a_limit_that_is_not_reached_has_no_date() -> None:
    found = made(row(outlook="watch", likely=None, latest=None))
    assert len(values(found, catalog.FORECAST_STREAM_FULL_TIMESTAMP_SECONDS)) == 1
    assert not values(made(row(**NO_DATES)), catalog.FORECAST_STREAM_FULL_TIMESTAMP_SECONDS)


def test_without_a_limit_there_is_no_gauge_but_for_servers() -> None:
    found = made(row(limit=None, **NO_DATES), {**SERVER, "limit": None, **NO_DATES})
    assert {gauge.metric.name for gauge in found.gauges} == {
        catalog.FORECAST_SERVER_STORAGE_USED_BYTES.name,
        catalog.FORECAST_AS_OF_TIMESTAMP_SECONDS.name,
        catalog.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS.name,
    }


def test_an_unknown_forecast_has_no_level() -> None:
    found = made(row(**NO_DATES, **dict.fromkeys(LEVELS)))
    assert found.gauges == (
        Gauge(catalog.FORECAST_AS_OF_TIMESTAMP_SECONDS, (), seconds(date(2026, 11, 16))),
        Gauge(catalog.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS, (), SUCCESS),
    )


def test_memory_has_dates_and_no_levels() -> None:
    memory = row(subject="server", metric=catalog.SERVER_MEMORY_USED_BYTES.name,
                 limit_name="memory", account="", stream="", server="n1")  # fmt: skip
    found = made(memory)
    dates = values(found, catalog.FORECAST_SERVER_FULL_TIMESTAMP_SECONDS)
    assert {labels[2] for labels in dates} == {"memory"}
    assert len(found.gauges) == 3 + 2


def test_the_tiers_of_an_account_add_up_and_keep_their_dates() -> None:
    found = made(account(limit_name="storage R1"), account(limit_name="storage R3"))
    levels = values(found, catalog.FORECAST_ACCOUNT_STORAGE_USED_BYTES)
    assert levels["demo", "APP", "7d", "0.5"] == 2 * 7050.0
    dates = values(found, catalog.FORECAST_ACCOUNT_FULL_TIMESTAMP_SECONDS)
    assert {labels[2] for labels in dates} == {"storage R1", "storage R3"}
    assert found.merged == 0


def test_of_two_that_would_be_one_gauge_the_worse_is_published_and_it_is_counted() -> None:
    later = {**row(earliest=date(2027, 1, 1)), "level_7d_q50": 9e9}
    found = made(row(), later)
    levels = values(found, catalog.FORECAST_STREAM_BYTES)
    assert levels["demo", "APP", "PAYMENTS", "7d", "0.5"] == 9e9
    dates = values(found, catalog.FORECAST_STREAM_FULL_TIMESTAMP_SECONDS)
    assert dates["demo", "APP", "PAYMENTS", "bytes", "0.9"] == seconds(date(2026, 12, 4))
    assert found.merged == 12


def test_two_systems_stay_two() -> None:
    found = made(row(), row(system="other"))
    assert len(values(found, catalog.FORECAST_STREAM_BYTES)) == 18
    assert found.merged == 0


def test_the_published_metrics_are_those_of_the_catalogue() -> None:
    assert set(PUBLISHED) == {m for m in catalog.ALL if m.origin is Origin.ROLLUP}
    assert {metric.kind for metric in PUBLISHED} == {Kind.GAUGE}


HOSTILE = row(stream='a"b\\c\nd{} é, x')
EVERYTHING = (row(), HOSTILE, SERVER, account())


def everything() -> bytes:
    return text_of(made(*EVERYTHING).gauges)


@pytest.mark.parametrize("parse", [openmetrics, plain_text])
def test_the_text_is_valid_and_equal_in_both_formats(parse: Any) -> None:
    read = {
        (sample.name, tuple(sample.labels[name] for name in catalog.BY_NAME[sample.name].labels)): (
            sample.value
        )
        for family in parse(everything().decode())
        for sample in family.samples
    }
    assert read == {
        (gauge.metric.name, gauge.labels): gauge.value for gauge in made(*EVERYTHING).gauges
    }


def test_the_text_has_no_timestamps_for_the_textfile_collector_refuses_them() -> None:
    families = list(openmetrics(everything().decode()))
    assert {sample.timestamp for family in families for sample in family.samples} == {None}


@pytest.mark.program
def test_promtool_reads_it_and_minds_the_word_quantile_alone() -> None:
    """It wants that label for summaries; a forecast has no other word for its quantiles."""
    programs = prometheus()
    if programs is None:
        pytest.skip("promtool is not available")
    done = subprocess.run(
        [programs.promtool, "check", "metrics"],
        input=everything(),
        capture_output=True,
        check=False,
    )
    remarks = {line.partition(" ")[2] for line in done.stderr.decode().splitlines()}
    assert remarks == {'non-summary metrics should not have "quantile" label'}


def test_the_exporter_takes_it() -> None:
    found = read_forecasts(everything().decode(), made=0.0)
    assert sum(block.lines for block in found.blocks) == len(made(*EVERYTHING).gauges)
    assert found.known_until == seconds(date(2026, 11, 16))


def test_the_first_rollup_reports_only_its_success() -> None:
    (found,) = (none := gauges_of(FORECASTS.empty_table(), SUCCESS, None)).gauges
    assert found.metric is catalog.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS
    text = text_of(none.gauges).decode()
    assert text.splitlines()[-2:] == [
        "streamgauge_rollup_last_success_timestamp_seconds 1794800000.0",
        "# EOF",
    ]


def test_a_file_is_replaced_whole_and_others_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "streamgauge.prom"
    write_textfile(path, b"old")
    with path.open("rb") as reader:
        write_textfile(path, b"new and longer")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new and longer"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [each.name for each in tmp_path.iterdir()] == ["streamgauge.prom"]


def test_a_write_error_is_reported_in_one_line_and_leaves_no_file(
    tmp_path: Path,
) -> None:
    with pytest.raises(RollupError, match=r"cannot write .*gone/x\.prom: No such file"):
        write_textfile(tmp_path / "gone" / "x.prom", b"")
    (tmp_path / "x.prom").mkdir()
    with pytest.raises(RollupError, match="Is a directory"):
        write_textfile(tmp_path / "x.prom", b"")
    assert [each.name for each in tmp_path.iterdir()] == ["x.prom"]


def test_text_of_nothing_is_only_its_end() -> None:
    assert text_of(()) == b"# EOF\n"
