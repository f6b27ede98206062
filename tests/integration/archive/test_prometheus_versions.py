"""A real Prometheus writes 1.0 and 2.0; what is exported equals its own storage, value by value.

It scrapes itself, so that native histograms, metadata and created timestamps are those of a real
program, and a page with exemplars. Prometheus 3 is taken from PATH; without it, its tests are
skipped by name. Debian's 2.42 knows 1.0 only.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import re
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
from aiohttp import web
from support.archive.process import archiving
from support.exporter.process import read_series
from support.remote_write.messages import bits_of
from support.remote_write.native_histograms import read_histogram
from support.waiting import until

from archive.tools.cli import main
from archive.tools.opaque_messages import Exemplar, read_exemplar, read_metadata
from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.processes.programs import debian_prometheus
from streamgauge.demo.processes.readiness import wait_until_ready

CONFIG: Final = """\
global:
  scrape_interval: 1s
  scrape_timeout: 1s
{scrape}
scrape_configs:
  - job_name: self
    static_configs:
      - targets: ["127.0.0.1:{port}", "127.0.0.1:{page}"]
remote_write:
  - url: http://127.0.0.1:{archive}/api/v1/write
    {message}
    send_exemplars: true
    send_native_histograms: true
    queue_config: {{min_shards: 1, max_shards: 1, batch_send_deadline: 100ms}}
    metadata_config: {{send: true, send_interval: 1s}}
"""
PAGE: Final = """\
# TYPE orders counter
# HELP orders Orders with "quotes" and a \\\\ in the help.
orders_total{{queue="a"}} {count}.0 # {{trace_id="t{count}",span_id="s"}} 0.5
# TYPE wait_seconds histogram
# UNIT wait_seconds seconds
# HELP wait_seconds Time of waiting.
wait_seconds_bucket{{le="1.0"}} {count} # {{trace_id="w{count}"}} 0.25
wait_seconds_bucket{{le="+Inf"}} {count}
wait_seconds_count {count}
wait_seconds_sum {count}.5
# EOF
"""
_OPEN_METRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_LINE: Final = re.compile(r'(\w+)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? (\S+) ([\d.]+)(?: # .*)?$')
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
SECONDS: Final = 12

Labels = tuple[tuple[str, str], ...]
Points = dict[Labels, list[tuple[int, int]]]


@dataclass
class Sender:
    url: str
    client: aiohttp.ClientSession

    async def get(self, path: str, **params: str) -> Any:
        async with self.client.get(self.url + path, params=params) as response:
            assert response.status == 200, await response.text()
            return await (response.json() if path.startswith("/api") else response.text())

    async def has_sent_until(self, moment: float) -> None:
        name = "prometheus_remote_storage_queue_highest_sent_timestamp_seconds"

        async def highest() -> float:
            found = read_series(await self.get("/metrics"))
            return max(
                (value for (each, _), value in found.samples.items() if each == name), default=0.0
            )

        await until(highest, lambda sent: sent > moment + 1, "it does not send")


@dataclass(frozen=True)
class Program:
    path: Path
    scrape: str = ""
    message: str = ""
    features: str = "exemplar-storage"
    has_native: bool = True


def debian_2_42() -> Program:
    found = debian_prometheus()
    if found is None:
        pytest.skip("Debian's prometheus is not available")
    return Program(
        found.prometheus, features="exemplar-storage,native-histograms", has_native=False
    )


def prometheus_3_v1() -> Program:
    return Program(
        prometheus_3(),
        "  scrape_native_histograms: true",
        "protobuf_message: prometheus.WriteRequest",
        "exemplar-storage,created-timestamp-zero-ingestion",
    )


def prometheus_3_v2() -> Program:
    """Its metadata comes from the labels: 3.15 writes none to its log, whatever is enabled.

    `metadata-wal-records` is not passed to its storage, and every series is sent with an empty
    metadata message.
    """
    return Program(
        prometheus_3(),
        "  scrape_native_histograms: true",
        "protobuf_message: io.prometheus.write.v2.Request",
        "exemplar-storage,created-timestamp-zero-ingestion,type-and-unit-labels",
    )


def prometheus_3() -> Path:
    """Skips where PATH has none. A program built from source may not know its version."""
    found = shutil.which("prometheus")
    if found is None:
        pytest.skip("prometheus 3 is not on PATH")
    done = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)
    if "version 2." in done.stdout + done.stderr:
        pytest.skip("the prometheus on PATH is not version 3")
    return Path(found)


@asynccontextmanager
async def scraped_page() -> AsyncIterator[int]:
    """A page whose exemplars change with each scrape."""
    scrapes = itertools.count(1)

    async def serve(_: web.Request) -> web.Response:
        body = PAGE.format(count=next(scrapes)).encode()
        return web.Response(body=body, headers={"Content-Type": _OPEN_METRICS})

    app = web.Application()
    app.router.add_get("/metrics", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", free_ports(1)[0])
        await site.start()
        yield site.port
    finally:
        await runner.cleanup()


@asynccontextmanager
async def sending(program: Program, folder: Path, archive: int) -> AsyncIterator[Sender]:
    port, config = free_ports(1)[0], folder / "prometheus.yml"
    child = Child("prometheus", folder / "prometheus.log")
    async with scraped_page() as page:
        text = CONFIG.format(
            scrape=program.scrape, port=port, page=page, archive=archive, message=program.message
        )
        await asyncio.to_thread(config.write_text, text)
        data = f"--storage.tsdb.path={folder / 'prometheus-data'}"
        listen = f"--web.listen-address=127.0.0.1:{port}"
        features = f"--enable-feature={program.features}"
        await child.start(program.path, f"--config.file={config}", data, listen, features)
        try:
            url = f"http://127.0.0.1:{port}"
            await wait_until_ready(child, f"{url}/-/ready")
            async with aiohttp.ClientSession() as client:
                yield Sender(url, client)
        finally:
            await child.stop()


def exported(
    data: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[Points, list[Any]]:
    """Samples without NaN, and the other messages."""
    opaque = folder / "opaque.jsonl"
    capsys.readouterr()
    assert main(["export", str(data), "--opaque", str(opaque)]) == 0
    points: Points = defaultdict(list)
    for line in capsys.readouterr().out.splitlines():
        match = None if line.startswith("#") else _LINE.match(line)
        if match is not None and match[3] != "NaN":
            pairs = [(name, _unescaped(text)) for name, text in _LABEL.findall(match[2] or "")]
            labels = tuple(sorted([("__name__", match[1]), *pairs]))
            points[labels].append((round(float(match[4]) * 1000), bits_of(float(match[3]))))
    return points, [json.loads(line) for line in opaque.read_text().splitlines()]


def _unescaped(text: str) -> str:
    return text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def within(points: Points, span: tuple[int, int]) -> Points:
    cut = {
        labels: sorted(point for point in each if span[0] <= point[0] <= span[1])
        for labels, each in points.items()
    }
    return {labels: each for labels, each in cut.items() if each}


def labels_of(labels: dict[str, str]) -> Labels:
    return tuple(sorted(labels.items()))


def messages_of(opaque: list[Any], kind: str) -> list[tuple[Labels, int | None, bytes]]:
    return [
        (labels_of(each["labels"] or {}), each["time"], base64.b64decode(each["data"]))
        for each in opaque
        if each["kind"] == kind
    ]


def own_samples(own: list[Any]) -> Points:
    return {
        labels_of(each["metric"]): [
            (round(float(at) * 1000), bits_of(float(value)))
            for at, value in each.get("values", ())
            if value != "NaN"
        ]
        for each in own
    }


def check_histograms(own: list[Any], opaque: list[Any], span: tuple[int, int]) -> int:
    """Compares count, sum and every bucket; returns how many histograms there were."""
    stored = {
        (labels, time): read_histogram(data)
        for labels, time, data in messages_of(opaque, "histogram")
    }
    compared = 0
    for each in own:
        for at, value in each.get("histograms", ()):
            time = round(float(at) * 1000)
            if not span[0] <= time <= span[1]:
                continue
            found = stored[labels_of(each["metric"]), time]
            assert (found.count, found.sum) == (float(value["count"]), float(value["sum"]))
            buckets = [tuple(map(float, bucket[1:])) for bucket in value.get("buckets", ())]
            assert [count for _, _, count in found.buckets] == [count for _, _, count in buckets]
            bounds = [[bound for bucket in side for bound in bucket[:2]] for side in
                      (found.buckets, buckets)]  # fmt: skip
            assert bounds[0] == pytest.approx(bounds[1], rel=1e-9)
            compared += 1
    return compared


def check_exemplars(own: list[Any], opaque: list[Any], span: tuple[int, int]) -> None:
    expected = {
        (labels_of(each["seriesLabels"]), Exemplar(
            labels_of(one["labels"]), float(one["value"]), round(one["timestamp"] * 1000)))
        for each in own
        for one in each["exemplars"]
    }  # fmt: skip
    stored = {(labels, read_exemplar(data)) for labels, _, data in messages_of(opaque, "exemplar")}
    within_span = [
        {each for each in side if span[0] <= each[1].time <= span[1]} for side in (stored, expected)
    ]
    assert within_span[0] == within_span[1]
    assert len(within_span[1]) >= SECONDS  # two a second, less the edges


def check_metadata(own: dict[str, Any], opaque: list[Any]) -> None:
    """1.0 sends it by family, with the help; 2.0 with each series."""
    stored = [(labels, read_metadata(data)) for labels, _, data in messages_of(opaque, "metadata")]
    if any(labels for labels, _ in stored):
        types = {labels: (found.type, found.unit) for labels, found in stored}
        for labels, about in types.items():
            named = dict(labels)
            assert about == (named["__type__"], named.get("__unit__", ""))
        assert len(types) > 300
        assert {kind for kind, _ in types.values()} >= {"counter", "gauge", "histogram", "summary"}
        return
    found = {about.family: (about.type, about.help, about.unit) for _, about in stored}
    expected = {
        name: [(each["type"], each["help"], each["unit"]) for each in every]
        for name, every in own.items()
    }
    assert found.keys() == expected.keys()
    assert [name for name, about in found.items() if about not in expected[name]] == []
    assert len(found) > 100


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "chosen",
    [debian_2_42, prometheus_3_v1, prometheus_3_v2],
    ids=["2.42 by 1.0", "3 by 1.0", "3 by 2.0"],
)
async def test_what_a_real_prometheus_sends_is_archived_value_by_value(
    tmp_path: Path, chosen: Callable[[], Program], capsys: pytest.CaptureFixture[str]
) -> None:
    program = await asyncio.to_thread(chosen)
    async with (
        archiving(tmp_path) as archive,
        sending(program, tmp_path, archive.port) as sender,
    ):
        start = time.time() + 2  # what it stamps before its queue starts is never sent
        await sender.has_sent_until(start + SECONDS)
        span = (round(start * 1000), round((start + SECONDS) * 1000))
        every = '{__name__=~".+"}'
        own = (await sender.get("/api/v1/query", query=f"{every}[5m]"))["data"]["result"]
        exemplars = await sender.get(
            "/api/v1/query_exemplars", query=every, start=str(start), end=str(start + SECONDS)
        )
        metadata = (await sender.get("/api/v1/metadata"))["data"]
        assert await archive.stop() == 0
    found, opaque = await asyncio.to_thread(exported, archive.data, tmp_path, capsys)
    expected = within(own_samples(own), span)
    assert within(found, span) == expected
    assert sum(map(len, expected.values())) > 3_000
    native = check_histograms(own, opaque, span)
    assert native > 50 or not program.has_native
    check_exemplars(exemplars["data"], opaque, span)
    check_metadata(metadata, opaque)
