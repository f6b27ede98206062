"""The forecast file: checks, staleness, and no effect on scrapes."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from support.exporter.process import exporting

from exporter import catalog
from exporter.exposition.text_format import Format, assemble
from exporter.polling import forecast_file
from exporter.polling.forecast_file import (
    ForecastFile,
    ForecastFileError,
    ForecastFileState,
    read_forecasts,
)
from exporter.polling.scrape_view import ScrapeView
from exporter.polling.supervisor import Supervisor
from exporter.settings.config import ExporterSettings
from exporter.settings.options import read_options
from exporter.web import make_app
from streamgauge.demo.processes.ports import free_ports

NOW = 1_794_800_000.0
DAY = 86_400.0
LEVEL = 'streamgauge_forecast_stream_bytes{system="s",account="A",stream="O",horizon="7d",quantile="0.5"} 4096.0'
DATE = 'streamgauge_forecast_server_full_timestamp_seconds{system="s",server="n1",limit="storage",quantile="0.9"} 1796000000.0'


def success(at: float) -> str:
    return f"streamgauge_rollup_last_success_timestamp_seconds {at!r}"


def as_of(at: float) -> str:
    return f"streamgauge_forecast_as_of_timestamp_seconds {at!r}"


def text(*lines: str) -> str:
    return "\n".join([*lines, "# EOF", ""])


def written(path: Path, *lines: str) -> Path:
    """As the rollups do it: another file under the same name."""
    scratch = path.with_suffix(".tmp")
    scratch.write_text(text(*lines))
    scratch.rename(path)
    return path


def served(state: ForecastFileState, now: float = NOW) -> list[str]:
    exposition = assemble([state.blocks(now)], b"", Format.TEXT)
    lines = b"".join(exposition.plain_chunks()).decode().splitlines()
    return [line for line in lines if not line.startswith("#")]


def health(state: ForecastFileState, now: float = NOW) -> list[float]:
    return [sample.value for sample in state.self_samples(now)]


@dataclass(frozen=True)
class MemorySupervisor:
    """The part of a Watch that a scrape sees."""

    settings: ExporterSettings

    def scrape_view(self) -> ScrapeView:
        return ScrapeView(NOW, ())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "streamgauge_rollup.prom"


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, forecast_file.__name__)
    return caplog


def test_the_samples_of_the_file_are_served_unchanged(path: Path) -> None:
    written(path, "# TYPE streamgauge_forecast_stream_bytes gauge", LEVEL, DATE, success(NOW))
    state = ForecastFile().refresh(path)
    assert served(state) == [LEVEL, DATE, success(NOW)]
    assert health(state) == [1.0]


def test_without_a_file_in_the_settings_there_is_no_sample() -> None:
    state = ForecastFile().refresh(None)
    assert (served(state), health(state)) == ([], [])


def test_hostile_names_stay_within_their_label(path: Path) -> None:
    hostile = LEVEL.replace('"O"', r'"a\"b\\c\nd{}, é"')
    assert served(ForecastFile().refresh(written(path, hostile, success(NOW)))) == [
        hostile,
        success(NOW),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("streamgauge_up 1", "'streamgauge_up' is not a metric of the rollups"),
        ("node_load1 0.5", "'node_load1' is not a metric of the rollups"),
        ("", "'' is not a metric of the rollups"),
        (
            'streamgauge_forecast_stream_bytes{system="s"} 1',
            "is not a sample of streamgauge_forecast_stream_bytes "
            "(labels: system, account, stream, horizon, quantile)",
        ),
        (
            "streamgauge_rollup_last_success_timestamp_seconds NaN",
            "is not a sample of streamgauge_rollup_last_success_timestamp_seconds (labels: none)",
        ),
        (
            "streamgauge_rollup_last_success_timestamp_seconds 1 1794800000",
            "is not a sample of streamgauge_rollup_last_success_timestamp_seconds (labels: none)",
        ),
        (LEVEL.replace('"O"', '"O\\q"'), "is not a sample of streamgauge_forecast_stream_bytes"),
        (LEVEL.replace("4096.0", "much"), "is not a sample of streamgauge_forecast_stream_bytes"),
    ],
)
def test_a_line_that_is_none_of_ours_refuses_the_file(line: str, reason: str) -> None:
    with pytest.raises(ForecastFileError) as refused:
        read_forecasts(text(DATE, line), NOW)
    assert str(refused.value).startswith(f"line 2: {reason}")


def test_one_gauge_twice_refuses_the_file() -> None:
    with pytest.raises(
        ForecastFileError, match="line 3: streamgauge_forecast_stream_bytes appears"
    ):
        read_forecasts(text(LEVEL, DATE, LEVEL.replace("4096.0", "1.0")), NOW)


@pytest.mark.parametrize("cut", ["", LEVEL, f"{LEVEL}\n", f"{LEVEL}\n# EOF"])
def test_a_file_without_its_end_is_cut_off(cut: str) -> None:
    with pytest.raises(ForecastFileError, match="is cut off"):
        read_forecasts(cut, NOW)


def test_an_invalid_file_drops_the_old_forecasts_and_is_logged_once(
    path: Path, log: pytest.LogCaptureFixture
) -> None:
    file = ForecastFile()
    assert served(file.refresh(written(path, LEVEL, success(NOW)), NOW))
    written(path, "streamgauge_up 1")
    states = [file.refresh(path, NOW) for _ in range(3)]
    assert [served(state) for state in states] == [[], [], []]
    assert [health(state) for state in states] == [[0.0]] * 3
    (line,) = (record.getMessage() for record in log.records)
    assert line == "forecast file not served, fix or remove it"
    written(path, LEVEL, success(NOW))
    assert health(file.refresh(path, NOW)) == [1.0]
    assert log.records[-1].getMessage() == "forecast file served again"


def test_a_file_that_comes_later_is_found(path: Path, log: pytest.LogCaptureFixture) -> None:
    file = ForecastFile()
    assert health(file.refresh(path, NOW)) == [0.0]
    assert log.records[-1].__dict__["fields"]["reason"] == "No such file or directory"
    assert health(file.refresh(written(path, LEVEL, success(NOW)), NOW)) == [1.0]


def test_a_stale_file_gives_its_time_alone(path: Path, log: pytest.LogCaptureFixture) -> None:
    written(path, LEVEL, success(NOW - 8 * DAY))
    state = ForecastFile().refresh(path, NOW)
    assert served(state) == [success(NOW - 8 * DAY)]
    assert health(state) == [0.0]
    assert log.records[-1].__dict__["fields"]["reason"] == "its forecasts are 8 days old"
    assert served(state, NOW - 2 * DAY) == [LEVEL, success(NOW - 8 * DAY)]


def test_forecasts_are_as_old_as_what_they_know_however_young_the_rollup(
    path: Path, log: pytest.LogCaptureFixture
) -> None:
    """A rollup succeeds each night also while the archive gets nothing new."""
    written(path, LEVEL, as_of(NOW - 6 * DAY), success(NOW))
    state = ForecastFile().refresh(path, NOW)
    assert served(state) == [LEVEL, as_of(NOW - 6 * DAY), success(NOW)]
    later = NOW + 1.5 * DAY
    assert served(state, later) == [as_of(NOW - 6 * DAY), success(NOW)]
    assert (health(state), health(state, later)) == ([1.0], [0.0])
    assert not log.records


def test_a_rollup_that_stopped_shows_in_its_timestamp_too(path: Path) -> None:
    """The time of success is what the alert RollupOverdue goes by: it outlives the forecasts."""
    written(path, LEVEL, as_of(NOW), success(NOW - 8 * DAY))
    state = ForecastFile().refresh(path, NOW)
    assert served(state) == [as_of(NOW), success(NOW - 8 * DAY)]
    assert state.problem(NOW) == "its forecasts are 8 days old"


def test_a_file_without_a_timestamp_is_as_old_as_its_mtime(path: Path) -> None:
    written(path, LEVEL)
    os.utime(path, (NOW, NOW))
    state = ForecastFile().refresh(path)
    assert (served(state, NOW), served(state, NOW + 8 * DAY)) == ([LEVEL], [])


def test_the_file_is_read_only_when_it_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    monkeypatch.setattr(
        forecast_file, "read_forecasts", lambda *_, **__: reads.append(1) or forecast_file.Forecasts()
    )  # fmt: skip
    file = ForecastFile()
    written(path, LEVEL)
    file.refresh(path)
    file.refresh(path)
    assert len(reads) == 1
    written(path, DATE)
    file.refresh(path)
    assert len(reads) == 2


def test_a_scrape_does_not_wait_for_another_one_that_reads(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ForecastFile()
    before = file.refresh(written(path, LEVEL, success(NOW)), NOW)
    reading, go_on = threading.Event(), threading.Event()
    original = read_forecasts

    def slowly(*args: Any, **more: Any) -> forecast_file.Forecasts:
        reading.set()
        assert go_on.wait(30)
        return original(*args, **more)

    monkeypatch.setattr(forecast_file, "read_forecasts", slowly)
    written(path, DATE, success(NOW))
    reader = threading.Thread(target=file.refresh, args=(path, NOW))
    reader.start()
    assert reading.wait(30)
    assert file.refresh(path, NOW) is before
    go_on.set()
    reader.join(30)
    assert served(file.refresh(path, NOW)) == [DATE, success(NOW)]


@pytest.mark.parametrize("kind", ["folder", "pipe", "not text", "too large"])
def test_what_is_not_a_regular_file_is_logged_and_does_not_block(
    kind: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "not text":
        path.write_bytes(b"\xff\xfe")
    else:
        monkeypatch.setattr(forecast_file, "MOST_BYTES", 10)
        written(path, LEVEL)
    state = ForecastFile().refresh(path, NOW)
    assert state.fault.startswith("is ")
    assert health(state) == [0.0]


async def test_a_scrape_contains_the_forecasts_too(path: Path) -> None:
    await asyncio.to_thread(written, path, LEVEL, success(NOW))
    supervisor = MemorySupervisor(ExporterSettings(forecasts=path))
    app = make_app(cast("Supervisor", supervisor), "flags")
    async with TestClient(TestServer(app)) as client:
        headers = {"Accept": "application/openmetrics-text;version=1.0.0"}
        whole = await (await client.get("/metrics", headers=headers)).text()
        chosen = await (await client.get("/metrics?collect[]=stream")).text()
        await asyncio.to_thread(written, path, "nonsense")
        after = await client.get("/metrics", headers=headers)
        families = {family.name for family in text_string_to_metric_families(await after.text())}
    found = {
        sample.name: sample.value
        for family in text_string_to_metric_families(whole)
        for sample in family.samples
    }
    assert found[catalog.FORECAST_STREAM_BYTES.name] == 4096.0
    assert found[catalog.FORECAST_FILE_SUCCESS.name] == 1.0
    assert catalog.FORECAST_STREAM_BYTES.name not in chosen
    assert after.status == 200
    assert catalog.FORECAST_STREAM_BYTES.name not in families
    assert catalog.FORECAST_FILE_SUCCESS.name in families


def test_the_file_may_be_missing_when_the_exporter_starts(tmp_path: Path) -> None:
    config = tmp_path / "exporter.yml"
    config.write_text("forecasts: rollups/streamgauge_rollup.prom\n")
    settings = read_options(["--config", str(config)], {}).load()
    assert settings.forecasts == tmp_path / "rollups" / "streamgauge_rollup.prom"
    flags = read_options(["--forecasts", "here.prom"], {}).load()
    assert flags.forecasts == Path("here.prom").absolute()


@pytest.mark.program
async def test_a_running_exporter_serves_what_it_is_pointed_to(path: Path, tmp_path: Path) -> None:
    other_scrape = f"nats://127.0.0.1:{free_ports(1)[0]}"
    flags = ("--nats", other_scrape, "--forecasts", str(path))
    recent = time.time()
    async with exporting(tmp_path, *flags) as exporter:
        await exporter.listening()
        before = await exporter.scrape()
        await asyncio.to_thread(written, path, LEVEL, success(recent))
        after = await exporter.scrape()
        await asyncio.to_thread(path.write_text, "cut off")
        broken = await exporter.scrape()
        log = await exporter.log_lines()
    level, health = "forecast_stream_bytes", "forecast_file_success"
    counts = [(each.value(level), each.value(health)) for each in (before, after, broken)]
    assert counts == [(None, 0.0), (4096.0, 1.0), (None, 0.0)]
    lines = [line for line in log if "forecast file" in line]
    assert ["not served" in line for line in lines] == [True, False, True]
    assert "is cut off" in lines[-1]
