"""A real Prometheus writes 1.0 and 2.0; what is exported equals its own storage, value by value.

It scrapes itself: native histograms, metadata and created timestamps are those of a real program.
Prometheus 3 is taken from PATH; without it, these tests are skipped by name.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
from support.archive.process import archiving
from support.exporter.process import read_series
from support.remote_write.messages import bits_of
from support.waiting import until

from archive.remote_write.protobuf import double, read_fields
from archive.tools.cli import main
from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.processes.readiness import wait_until_ready

CONFIG: Final = """\
global:
  scrape_interval: 1s
  scrape_timeout: 1s
{scrape}
scrape_configs:
  - job_name: self
    static_configs:
      - targets: ["127.0.0.1:{port}"]
remote_write:
  - url: http://127.0.0.1:{archive}/api/v1/write
    {message}
    send_exemplars: true
    send_native_histograms: true
    queue_config: {{min_shards: 1, max_shards: 1, batch_send_deadline: 100ms}}
    metadata_config: {{send: true, send_interval: 1s}}
"""
NATIVE: Final = "  scrape_native_histograms: true"
FEATURES: Final = (
    "--enable-feature=exemplar-storage,metadata-wal-records,created-timestamp-zero-ingestion"
)
_LINE: Final = re.compile(r"(\w+)(?:\{(.*)\})? (\S+) ([\d.]+)(?: # .*)?$")
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
async def sending(
    prometheus: Path, folder: Path, archive: int, message: str, *flags: str
) -> AsyncIterator[Sender]:
    port = free_ports(1)[0]
    text = CONFIG.format(scrape=NATIVE, port=port, archive=archive, message=message)
    config = folder / "prometheus.yml"
    await asyncio.to_thread(config.write_text, text)
    child = Child("prometheus", folder / "prometheus.log")
    data = f"--storage.tsdb.path={folder / 'prometheus-data'}"
    listen = f"--web.listen-address=127.0.0.1:{port}"
    await child.start(prometheus, f"--config.file={config}", data, listen, *flags)
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


def histograms_of(opaque: list[Any]) -> dict[Labels, dict[int, tuple[float, float]]]:
    """Count and sum of each, by labels and time."""
    found: dict[Labels, dict[int, tuple[float, float]]] = defaultdict(dict)
    for each in opaque:
        if each["kind"] == "histogram":
            data = base64.b64decode(each["data"])
            fields = {field.number: field for field in read_fields(data, 0, len(data))}
            count = float(fields[1].value) if 1 in fields else 0.0
            total = double(data, fields[3].start) if 3 in fields else 0.0
            found[tuple(sorted(each["labels"].items()))][each["time"]] = (count, total)
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "message", ["prometheus.WriteRequest", "io.prometheus.write.v2.Request"], ids=["1.0", "2.0"]
)
async def test_prometheus_3_is_archived_value_by_value(
    tmp_path: Path, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prometheus = await asyncio.to_thread(prometheus_3)
    setting = f"protobuf_message: {message}"
    async with (
        archiving(tmp_path) as archive,
        sending(prometheus, tmp_path, archive.port, setting, FEATURES) as sender,
    ):
        start = time.time() + 2  # what it stamps before its queue starts is never sent
        await sender.has_sent_until(start + SECONDS)
        span = (round(start * 1000), round((start + SECONDS) * 1000))
        query = {"query": '{__name__=~".+"}[5m]'}
        own = (await sender.get("/api/v1/query", **query))["data"]["result"]
        metadata = (await sender.get("/api/v1/metadata"))["data"]
        assert await archive.stop() == 0
    found, opaque = await asyncio.to_thread(exported, archive.data, tmp_path, capsys)
    expected = {
        tuple(sorted(each["metric"].items())): [
            (round(float(at) * 1000), bits_of(float(value)))
            for at, value in each.get("values", ())
            if value != "NaN"
        ]
        for each in own
    }
    assert within(found, span) == within(expected, span)
    assert sum(map(len, within(expected, span).values())) > 5_000
    stored = histograms_of(opaque)
    native = 0
    for each in own:
        labels = tuple(sorted(each["metric"].items()))
        for at, value in each.get("histograms", ()):
            if span[0] <= round(float(at) * 1000) <= span[1]:
                count, total = stored[labels][round(float(at) * 1000)]
                assert (count, total) == (float(value["count"]), float(value["sum"]))
                native += 1
    assert native > 50
    if message == "prometheus.WriteRequest":
        # 2.0 sends metadata with its series, when the sender has it; 1.0 in requests of its own.
        assert "metadata" in {each["kind"] for each in opaque}
        assert len(metadata) > 100
