"""Debian's Prometheus as a sender: it scrapes a page of the test and writes to an archive."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp
from aiohttp import web
from support.exporter.process import Series, read_series
from support.remote_write.messages import bits_of
from support.waiting import until

from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import prometheus
from streamgauge.demo.processes.readiness import wait_until_ready

# Small requests, many of them, and no long pause after a failure: a kill should meet one.
CONFIG: Final = """\
global:
  scrape_interval: 200ms
  scrape_timeout: 200ms
scrape_configs:
  - job_name: test
    static_configs:
      - targets: ["127.0.0.1:{page}"]
remote_write:
  - url: http://127.0.0.1:{archive}/api/v1/write
    queue_config:
      max_samples_per_send: 60
      batch_send_deadline: 50ms
      min_backoff: 30ms
      max_backoff: 250ms
      min_shards: 2
      max_shards: 4
"""
_SENT: Final = "prometheus_remote_storage_{}"

Labels = tuple[tuple[str, str], ...]
Point = tuple[int, int]


@dataclass
class Page:
    """What is scraped: gauges that change each time, a few that vanish and come back."""

    series: int
    scrapes: int = 0
    closed: bool = False
    _random: random.Random = field(default_factory=lambda: random.Random(7))

    async def serve(self, _: web.Request) -> web.Response:
        if self.closed:
            return web.Response(status=404)
        self.scrapes += 1
        lines = [
            f'test_value{{place="{place}"}} {self._value(place)}'
            for place in range(self.series)
            if place % 10 or (self.scrapes // 7) % 2
        ]
        return web.Response(text="\n".join([*lines, ""]))

    def _value(self, place: int) -> float:
        kinds = (
            lambda: float(self.scrapes),
            lambda: 0.0,
            self._random.random,
            lambda: self._random.randint(-(10**12), 10**12) / 1000,
            lambda: float("inf"),
        )
        return kinds[place % len(kinds)]()


@dataclass
class Prometheus:
    child: Child
    url: str
    page: Page
    client: aiohttp.ClientSession = field(repr=False)

    async def metrics(self) -> Series:
        async with self.client.get(f"{self.url}/metrics") as response:
            return read_series(await response.text())

    async def sent(self, what: str = "samples_total") -> float:
        found = await self.metrics()
        name = _SENT.format(what)
        return sum(value for (each, _), value in found.samples.items() if each == name)

    async def has_sent_everything(self) -> None:
        """The page is closed, and what was scraped is acknowledged."""
        self.page.closed = True
        seen: list[tuple[float, float, float]] = []

        async def settled() -> bool:
            found = await self.metrics()

            def of(what: str) -> float:
                name = _SENT.format(what)
                return sum(value for (each, _), value in found.samples.items() if each == name)

            into, sent, pending = of("samples_in_total"), of("samples_total"), of("samples_pending")
            seen.append((into, sent, pending))
            # Its own `up` goes on for ever; what matters is that nothing of it waits.
            return len(seen) > 3 and pending <= 20 and into - sent <= 20

        await until(settled, bool, "Prometheus still has something to send")

    async def points(self) -> dict[Labels, list[Point]]:
        """Every sample that it has, by its query API, which leaves stale markers out."""
        query = {"query": '{__name__=~".+"}[1h]'}
        async with self.client.get(f"{self.url}/api/v1/query", params=query) as response:
            found = await response.json()
        return {
            tuple(sorted(each["metric"].items())): [_point(*pair) for pair in each["values"]]
            for each in found["data"]["result"]
        }


@asynccontextmanager
async def sending(folder: Path, archive_port: int, series: int) -> AsyncIterator[Prometheus]:
    programs = await asyncio.to_thread(prometheus)
    if programs is None:
        raise ProgramMissingError("prometheus: cannot be had on this machine")
    page = Page(series)
    page_port, port = free_ports(2)
    app = web.Application()
    app.router.add_get("/metrics", page.serve)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", page_port).start()
    config = folder / "prometheus.yml"
    text = CONFIG.format(page=page_port, archive=archive_port)
    await asyncio.to_thread(config.write_text, text)
    child = Child("prometheus", folder / "prometheus.log")
    await child.start(
        programs.prometheus,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'prometheus-data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    try:
        url = f"http://127.0.0.1:{port}"
        await wait_until_ready(child, f"{url}/-/ready")
        async with aiohttp.ClientSession() as client:
            yield Prometheus(child, url, page, client)
    finally:
        await child.stop()
        await runner.cleanup()


def _point(time: Any, text: str) -> Point:
    return round(float(time) * 1000), bits_of(float(text))


def differences(
    expected: Mapping[Labels, list[Point]], found: Mapping[Labels, list[Point]], until_time: int
) -> list[str]:
    """What is missing, too much or other than expected, up to a time; for a message to people."""
    reported = []
    for labels in sorted({*expected, *found}):
        wanted = [point for point in expected.get(labels, []) if point[0] <= until_time]
        got = [point for point in found.get(labels, []) if point[0] <= until_time]
        if wanted != got:
            missing = sorted(set(wanted) - set(got))
            extra = sorted(set(got) - set(wanted))
            doubled = len(got) - len(set(got))
            reported.append(f"{labels}: {missing=} {extra=} {doubled=}")
    return reported
