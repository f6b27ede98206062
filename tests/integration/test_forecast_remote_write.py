"""Forecasts by remote write: what a real Prometheus and our own archive hold afterwards."""

from __future__ import annotations

import argparse
import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import pyarrow as pa
import pytest
from support.archive.process import archiving, ran
from support.rollups.delta_tables import write_rollups
from support.waiting import until

from exporter import catalog
from spark_rollups.command_line import add_publication_arguments
from spark_rollups.filesystem import RollupError
from spark_rollups.publishing import main
from spark_rollups.publishing import publication as publish
from spark_rollups.publishing.gauges import Gauge, Gauges
from spark_rollups.publishing.publication import (
    Publication,
    current_gauges,
    last_success,
    publication_of,
)
from spark_rollups.publishing.remote_write import Receiver, basic, bearer, send, write_request
from spark_rollups.publishing.textfile import text_of
from spark_rollups.rollup.tables.reader import open_rollups
from spark_rollups.rollup.tables.schemas import FORECASTS
from streamgauge.demo.pipeline.services import running
from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import prometheus

SUCCESS = Gauge(catalog.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS, (), 1_794_800_000.0)
LEVEL = Gauge(
    catalog.FORECAST_STREAM_BYTES, ("demo", "APP", 'a"b\\c é', "30d", "0.9"), 38_200_000_000.5
)
GAUGES = (LEVEL, SUCCESS)
NOW = SUCCESS.value + 3600
FORECAST = {
    **dict.fromkeys(FORECASTS.names),
    "as_of": date(2026, 11, 14), "subject": "stream", "metric": catalog.STREAM_BYTES.name,
    "limit_metric": catalog.STREAM_MAX_BYTES.name, "limit_name": "bytes", "system": "demo",
    "account": "APP", "stream": "S", "server": "", "level": 1.0, "limit": 1000.0,
    "outlook": "act", "reason": "", "model": "x", "days": 58, "dropped": 0, "level_7d_q50": 900.0,
}  # fmt: skip


@dataclass
class Door:
    """Responds with the given codes in order, then repeats the last one."""

    codes: list[int]
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


@contextmanager
def door(*codes: int) -> Iterator[Door]:
    seen = Door(list(codes))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.headers.append(dict(self.headers))
            seen.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            code = seen.codes.pop(0) if len(seen.codes) > 1 else seen.codes[0]
            self.send_response(code)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(b"because of this\nand more")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        seen.url = f"http://127.0.0.1:{server.server_port}/api/v1/write"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield seen
        finally:
            server.shutdown()
            thread.join()


def sent(url: str, authorization: str = "") -> list[float]:
    """The pauses that were made on the way."""
    pauses: list[float] = []
    send(GAUGES, Receiver(url, authorization), 1_794_800_100.0, {"job": "x"}, pauses.append)
    return pauses


def test_a_busy_receiver_gets_retries_with_growing_pauses() -> None:
    with door(503, 429, 500, 204) as seen:
        assert sent(seen.url) == [0.2, 0.4, 0.8]
    assert len(seen.bodies) == 4
    assert len(set(seen.bodies)) == 1


@pytest.mark.parametrize("code", [302, 307, 400, 401, 404])
def test_a_refusal_is_an_error_with_its_reason_and_not_repeated(code: int) -> None:
    with door(code) as seen, pytest.raises(RollupError) as refused:
        sent(seen.url)
    assert str(refused.value) == f"{seen.url}: request rejected: {code} because of this"
    assert len(seen.bodies) == 1


def test_an_unreachable_receiver_ends_after_some_attempts() -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}/api/v1/write"
    with pytest.raises(RollupError, match=r"failed after 6 attempts: .*refused"):
        sent(url)


def test_the_headers_say_what_it_is_and_who_we_are() -> None:
    with door(204) as seen:
        sent(seen.url, basic("me", "secret"))
        sent(seen.url, bearer("token"))
    first, second = seen.headers
    assert first["Content-Encoding"] == "snappy"
    assert first["X-Prometheus-Remote-Write-Version"] == "0.1.0"
    assert first["Authorization"] == "Basic bWU6c2VjcmV0"
    assert second["Authorization"] == "Bearer token"


def test_many_gauges_go_in_several_requests() -> None:
    many = [Gauge(LEVEL.metric, ("s", "a", f"S{n}", "7d", "0.5"), n) for n in range(4_001)]
    with door(204) as seen:
        send(many, Receiver(seen.url), 1.0, {})
    assert len(seen.bodies) == 3


def test_labels_are_sorted_unique_and_never_empty() -> None:
    gauge = Gauge(catalog.FORECAST_ACCOUNT_STORAGE_USED_BYTES, ("s", "", "7d", "0.5"), 1.0)
    message = write_request([gauge], 5, {"job": "j", "system": "not this"})
    names = [
        dict(rw_fields(pair))[1]
        for number, pair in rw_fields(rw_fields(message)[0][1])
        if number == 1
    ]
    assert names == [b"__name__", b"horizon", b"job", b"quantile", b"system"]
    assert b"not this" not in message


def rw_fields(message: bytes) -> list[tuple[int, bytes]]:
    """The length-delimited fields of a short protobuf message."""
    found, root = [], 0
    while root < len(message):
        tag, length, root = message[root], message[root + 1], root + 2
        if length & 0x80:
            length, root = (length & 0x7F) | message[root] << 7, root + 1
        found.append((tag >> 3, message[root : root + length]))
        root += length
    return found


@asynccontextmanager
async def receiving(folder: Path) -> AsyncIterator[str]:
    """Debian's Prometheus that takes remote write."""
    programs = await asyncio.to_thread(prometheus)
    if programs is None:
        raise ProgramMissingError("prometheus: cannot be had on this machine")
    config, port = folder / "prometheus.yml", free_ports(1)[0]
    await asyncio.to_thread(config.write_text, "")
    command = (
        str(programs.prometheus), f"--config.file={config}", "--web.enable-remote-write-receiver",
        f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}",
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    async with running("prometheus", folder, command, f"{url}/-/ready"):
        yield url


async def query_result(url: str, query: str) -> list[dict[str, Any]]:
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"{url}/api/v1/query", params={"query": query}) as response,
    ):
        found: list[dict[str, Any]] = (await response.json())["data"]["result"]
        return found


async def test_prometheus_holds_what_was_sent(tmp_path: Path) -> None:
    lines: list[str] = []
    async with receiving(tmp_path) as url:
        publication = Publication(None, Receiver(f"{url}/api/v1/write"), {"cluster": "eu"})
        gauges = Gauges(GAUGES, 0)
        await asyncio.to_thread(publication.publish, gauges, time.time(), lines.append)

        async def found() -> list[dict[str, Any]]:
            return await query_result(url, LEVEL.metric.name)

        (level,) = await until(found, bool, "nothing arrived")
        (success,) = await query_result(url, SUCCESS.metric.name)
    assert level["metric"] == {
        "__name__": "streamgauge_forecast_stream_bytes", "system": "demo", "account": "APP",
        "stream": 'a"b\\c é', "horizon": "30d", "quantile": "0.9", "cluster": "eu",
        "job": "streamgauge_rollup",
    }  # fmt: skip
    assert float(level["value"][1]) == 38_200_000_000.5
    assert float(success["value"][1]) == 1_794_800_000.0
    assert lines == [f"2 gauges sent to {url}/api/v1/write"]


async def test_our_archive_keeps_it_too(tmp_path: Path) -> None:
    async with archiving(tmp_path) as archive:
        receiver = Receiver(f"{archive.url}/api/v1/write")
        await asyncio.to_thread(send, GAUGES, receiver, 1_794_800_100.0, {"job": "j"})
        assert await archive.stop() == 0
    exported = await ran("export", str(archive.data))
    lines = [line for line in exported.out.splitlines() if not line.startswith("#")]
    assert lines == [
        'streamgauge_forecast_stream_bytes{account="APP",horizon="30d",job="j",quantile="0.9",'
        'stream="a\\"b\\\\c é",system="demo"} 38200000000.5 1794800100',
        'streamgauge_rollup_last_success_timestamp_seconds{job="j"} 1794800000 1794800100',
    ]


def rollups(folder: Path) -> Path:
    write_rollups(folder, {}, written=1_794_800_000_000)
    return folder


def newest_gauges(folder: Path, now: float, log: Callable[[str], None]) -> Gauges:
    found = open_rollups(str(folder))
    return current_gauges(found, last_success(found), now, log)


def test_rollups_without_forecasts_report_their_success(tmp_path: Path) -> None:
    lines: list[str] = []
    found = newest_gauges(rollups(tmp_path), NOW, lines.append)
    assert found.gauges == (SUCCESS,)
    assert lines == []


@pytest.mark.parametrize(("days_ago", "published"), [(0, True), (7, True), (7.01, False)])
def test_forecasts_of_a_day_that_is_long_over_are_not_published(
    days_ago: float, published: bool, tmp_path: Path
) -> None:
    """However young the last success is: a rollup succeeds also where nothing is new."""
    table = pa.Table.from_pylist([FORECAST], schema=FORECASTS)
    days = (date(2026, 11, 14), date(2026, 9, 30))
    write_rollups(tmp_path, {"forecasts": table}, days, written=1_794_800_000_000)
    end = datetime(2026, 11, 15, tzinfo=UTC).timestamp()
    lines: list[str] = []
    found = newest_gauges(tmp_path, end + days_ago * 86_400, lines.append).gauges
    assert (len(found) > 2) is published
    assert found[-2:] == (Gauge(catalog.FORECAST_AS_OF_TIMESTAMP_SECONDS, (), end), SUCCESS)
    assert lines == ([] if published else [
        "no forecasts published: the newest are as of 2026-11-14, 7 days old"
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("text", "success"),
    [
        (text_of([Gauge(SUCCESS.metric, (), 1_794_900_000.5)]).decode(), 1_794_900_000.5),
        (text_of([Gauge(SUCCESS.metric, (), 1_700_000_000.0)]).decode(), SUCCESS.value),
        ("nonsense", SUCCESS.value),
    ],
)
def test_a_run_that_found_nothing_new_was_a_success_too(
    text: str, success: float, tmp_path: Path
) -> None:
    (rollups(tmp_path) / publish.FILE).write_text(text)
    (found,) = newest_gauges(tmp_path, NOW, print).gauges
    assert found.value == success


def test_the_command_writes_the_file_and_sends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text("abc\n")
    target = tmp_path / "out.prom"
    with door(204) as seen:
        done = main.main(
            ["--rollups", str(rollups(tmp_path / "rollups")), "--textfile", str(target),
             "--remote-write", seen.url, "--remote-write-token-file", str(token)]
        )  # fmt: skip
    assert done == 0
    assert "streamgauge_rollup_last_success_timestamp_seconds 1794800000.0" in target.read_text()
    assert seen.headers[0]["Authorization"] == "Bearer abc"
    assert capsys.readouterr().err.splitlines() == [
        f"1 gauges in {target}",
        f"1 gauges sent to {seen.url}",
    ]


class EnoughError(Exception):
    """Ends what goes on for ever."""


def test_a_receiver_that_was_away_gets_what_is_newest_and_each_change_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, pauses = tmp_path / "rollups", 0

    def pause(_: float) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 2:
            rollups(folder)
        if pauses == 8:
            raise EnoughError

    monkeypatch.setattr(main.time, "sleep", pause)
    with door(204, 204, 401, 401, 204) as seen, pytest.raises(EnoughError):
        main.main(
            ["--rollups", str(folder), "--remote-write", seen.url, "--every", "60"]
        )  # fmt: skip
    assert len(seen.bodies) == 6
    lines = [line.removeprefix("streamgauge: ") for line in capsys.readouterr().err.splitlines()]
    assert lines[0].startswith(f"{folder}: no rollups here")
    assert lines[1:] == [
        f"1 gauges sent to {seen.url}",
        f"{seen.url}: request rejected: 401 because of this; retrying",
        f"1 gauges sent to {seen.url}",
    ]


def test_an_unreachable_receiver_does_not_end_the_periodic_sender(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url, pauses = f"http://127.0.0.1:{free_ports(1)[0]}/api/v1/write", 0

    def gives_up(*_: object) -> None:
        raise RollupError(f"{url}: failed after 6 attempts: refused")

    def pause(_: float) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 3:
            raise EnoughError

    monkeypatch.setattr(publish, "send", gives_up)
    monkeypatch.setattr(main.time, "sleep", pause)
    flags = ["--rollups", str(rollups(tmp_path)), "--remote-write", url, "--every", "60"]
    with pytest.raises(EnoughError):
        main.main(flags)
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"streamgauge: {url}: failed after 6 attempts: refused; retrying"


def arguments(*flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_publication_arguments(parser)
    return parser.parse_args(flags)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--textfile", "x.txt"], "--textfile: x.txt does not end in .prom"),
        (["--remote-write", "prometheus:9090"], "is not an http or https URL"),
        (["--remote-write", "ftp://host/x"], "is not an http or https URL"),
        (["--remote-write", "http://me:pw@host/x"], r"http://\*\*\*@host/x contains a user name"),
        (["--remote-write", "http://h/x", "--remote-write-user", "u"], "belong together"),
        (["--remote-write", "http://h/x", "--remote-write-token-file", "gone"],
         "--remote-write-token-file: gone: No such file"),
        (["--remote-write", "http://h/x", "--label", "__x=1"], "is not a label"),
        (["--remote-write", "http://h/x", "--label", "x"], "is not a label"),
        (["--label", "a=b"], "--remote-write is missing"),
        (["--remote-write-user", "u"], "--remote-write is missing"),
    ],
)  # fmt: skip
def test_an_error_in_the_flags_is_reported_before_any_work(flags: list[str], reason: str) -> None:
    with pytest.raises(RollupError, match=reason):
        publication_of(arguments(*flags))


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("hunter2\n")
    made = publication_of(
        arguments("--remote-write", "http://h/x", "--remote-write-user", "me",
              "--remote-write-password-file", str(secret))
    )  # fmt: skip
    assert made.receiver is not None
    assert made.receiver.authorization == basic("me", "hunter2")
    assert made.receiver.authorization not in repr(made)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ([], "nothing to do: set --textfile or --remote-write"),
        (["--textfile", "x.prom"], "no rollups here"),
    ],
)
def test_the_command_reports_in_one_line_what_is_missing(
    flags: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["--rollups", str(tmp_path), *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert reason in line


def test_merged_forecasts_are_logged() -> None:
    lines: list[str] = []
    publish.Publication(None, None, {}).publish(Gauges(GAUGES, 3), 0.0, lines.append)
    assert lines[0].startswith("3 forecasts differ in labels")
