"""The table of `python -m bench chain`: its form and what it computes."""

from __future__ import annotations

import pytest

from bench.chain.table import (
    Row,
    archive_bytes_a_day,
    print_table,
    slowest_group,
    slowest_query,
    tsdb_bytes_a_day,
)
from bench.rules.compare import Cost


def test_the_table_fits_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        Row("nats-server, not polled", 1234.56, None, 12_345_000_000),
        Row("prometheus-nats-exporter", 136.4, None, 3_108_000_000),
        Row("Prometheus", 119.95, None, 15_000_000_000, 123.4e9),
        Row("archive", 20.1, 412.3, 4_000_000_000, 12.3e9),
    ]
    print_table("the chain", rows, ["a note"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split("  ")[1] for line in lines[3:7]] == [row.part for row in rows]
    assert lines[-1] == "  a note"


def test_what_does_not_apply_is_empty() -> None:
    assert Row("report", None, 1.84, 263_400_000).cells() == ("report", "", "1.8", "263 MB", "")
    assert Row("exporter", 0.5).cells() == ("exporter", "0.50", "", "", "")


def test_chunks_grow_with_time_and_each_of_twelve_blocks_has_an_index() -> None:
    assert tsdb_bytes_a_day(1_000, 500, 8_640.0) == 1_000 * 10 + 500 * 12


def test_the_archive_writes_statistics_by_the_hour_and_series_once() -> None:
    sizes = {"samples": 1_000, "hourly": 100, "series": 7, "metadata": 3}
    assert archive_bytes_a_day(sizes, 8_640.0) == 10_000 + 2_400 + 10


def test_the_slowest_group_is_named_with_the_sum_of_all() -> None:
    assert slowest_group({"a": 0.2, "b": 1.5}) == "slowest rule group: b, 1.50 s; all 1.70 s"
    assert "none" in slowest_group({})


def test_the_slowest_query_is_the_slowest_on_the_wall_of_all_boards() -> None:
    dear, slow = Cost(2.0, 0.5, 10, "dear", 20), Cost(0.1, 0.9, 30, "slow", 4_000)
    first, second = slowest_query({"Fleet": [dear], "Stream": [slow]})
    assert first.endswith("Stream, slow")
    assert second == "  900 ms, 4,000 samples touched, 30 held at once"
    assert "no query" in slowest_query({})[0]
