"""The programs of the chain as processes: exporter, Prometheus, archive."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from aiohttp import web

from alerts.rendering.rule_files import rule_files
from bench.archive.receivers import prometheus_program
from bench.chain.meter import Meter, read_to_end
from bench.process import ROOT, free_port
from bench.scrape_cost import exporter_command
from streamgauge.demo.pipeline.services import archive as archive_service
from streamgauge.demo.pipeline.services import running
from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.program_cache import ProgramMissingError

_SHIPPED = ROOT / "deploy" / "prometheus" / "prometheus.yml"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parts of one run keep their files, and how often they poll."""

    folder: Path
    interval: int  # seconds

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    @property
    def tsdb(self) -> Path:
        return self.folder / "tsdb"


def exporter(place: Place, nats: str, port: int) -> AbstractAsyncContextManager[Child]:
    """Ready after its first poll."""
    command = exporter_command(nats, "system", port, f"{place.interval}s")
    return running("exporter", place.folder, command, f"http://127.0.0.1:{port}/-/ready")


def archive(place: Place, port: int) -> AbstractAsyncContextManager[Child]:
    return archive_service(place.folder, place.archive, port)


@asynccontextmanager
async def prometheus(
    place: Place, exporter_port: int, archive_port: int
) -> AsyncIterator[tuple[Child, str]]:
    """With the shipped configuration and all rules; yields its address too."""
    program = await asyncio.to_thread(prometheus_program)
    if program is None:
        raise ProgramMissingError("prometheus: not available")
    config = await asyncio.to_thread(_configure, place, exporter_port, archive_port)
    port = free_port()
    command = (
        str(program), f"--config.file={config}", f"--storage.tsdb.path={place.tsdb}",
        f"--web.listen-address=127.0.0.1:{port}", "--web.enable-admin-api", "--log.level=warn",
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    async with running("prometheus", place.folder, command, f"{address}/-/ready") as child:
        yield child, address


def _configure(place: Place, exporter_port: int, archive_port: int) -> Path:
    config = yaml.safe_load(_SHIPPED.read_text(encoding="utf-8"))
    seconds = f"{place.interval}s"
    config["global"] |= {"scrape_interval": seconds, "scrape_timeout": seconds}
    config["rule_files"] = [f"{place.folder}/*.rules.yml"]
    del config["alerting"]
    for job, port in zip(config["scrape_configs"], (exporter_port, archive_port), strict=True):
        job["static_configs"] = [{"targets": [f"127.0.0.1:{port}"]}]
    config["remote_write"][0]["url"] = f"http://127.0.0.1:{archive_port}/api/v1/write"
    for name, text in rule_files().items():
        (place.folder / name).write_text(text, encoding="utf-8")
    written = place.folder / "prometheus.yml"
    written.write_text(yaml.safe_dump(config), encoding="utf-8")
    return written


async def end(meter: Meter) -> float:
    """Stops a part, however long it takes; its CPU seconds from the signal to the end."""
    await meter.read()
    before = meter.cpu
    os.kill(meter.process.pid, signal.SIGTERM)
    await read_to_end(meter)
    return meter.cpu - before


@asynccontextmanager
async def recorded(body: bytes, kind: str) -> AsyncIterator[int]:
    """Serves a recorded exposition, compressed with gzip; yields the port."""

    async def respond(_: web.Request) -> web.Response:
        headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
        return web.Response(body=body, headers=headers)

    app = web.Application()
    app.router.add_get("/metrics", respond)
    runner, port = web.AppRunner(app), free_port()
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield port
    finally:
        await runner.cleanup()
