"""A receiver behind HTTP with a log in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from aiohttp import ClientResponse, ClientSession, web
from prometheus_client.parser import text_string_to_metric_families
from support.remote_write import messages as rw

from archive.batch import Batch, SeriesDefinition
from archive.http.app import WRITE_PATH, make_app
from archive.ingest.quarantine import Quarantine
from archive.ingest.receiver import Receiver
from archive.remote_write.decoder import Decoder
from archive.self_metrics import ReceiverCounters, SelfMetrics
from archive.series.table import SeriesTable
from archive.settings.limits import Limits
from archive.settings.quarantine import QuarantineSettings
from archive.wal.group_commit import Done
from streamgauge.demo.processes.ports import free_ports

WRITTEN: Final = [
    f"X-Prometheus-Remote-Write-{what}-Written" for what in ("Samples", "Histograms", "Exemplars")
]


@dataclass
class MemoryLog:
    """Keeps batches, or says that it cannot; holds them up while `gate` is closed."""

    batches: list[Batch] = field(default_factory=list)
    error: Exception | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    appending: asyncio.Event = field(default_factory=asyncio.Event)

    async def append(self, definitions: Iterable[SeriesDefinition], batch: Batch) -> None:
        assert not list(definitions), "the log knows them by its own table"
        self.appending.set()
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        self.batches.append(batch)

    def append_soon(self, batch: Batch, done: Done) -> None:
        task = asyncio.ensure_future(self.append((), batch))
        task.add_done_callback(lambda task: done(cast(Exception | None, task.exception())))

    @property
    def samples(self) -> int:
        return sum(len(batch.series) for batch in self.batches)


@dataclass
class Endpoint:
    """A receiver behind HTTP, with a log in memory."""

    client: ClientSession
    port: int
    receiver: Receiver
    log: MemoryLog
    quarantine: Quarantine
    folder: Path

    async def post(self, message: bytes, version: str = rw.V1, **headers: str) -> ClientResponse:
        return await self.post_body(rw.compressed(message), version, **headers)

    async def post_body(self, body: bytes, version: str = rw.V1, **headers: str) -> ClientResponse:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return await self.client.post(
            WRITE_PATH, data=body, headers={**rw.headers(version), **named}
        )

    async def metric(self, name: str, **labels: str) -> float | None:
        text = await (await self.client.get("/metrics")).text()
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name == f"streamgauge_archive_{name}" and sample.labels == labels:
                    return sample.value
        return None

    async def put_aside(self) -> list[tuple[dict[str, object], bytes]]:
        """Facts and body of each; nothing can be put aside afterwards."""
        await asyncio.to_thread(self.quarantine.close)
        return await asyncio.to_thread(_put_aside, self.folder)


def _put_aside(folder: Path) -> list[tuple[dict[str, object], bytes]]:
    facts = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    bodies = [path.read_bytes() for path in sorted(folder.glob("*.snappy"))]
    return list(zip(facts, bodies, strict=True))


@asynccontextmanager
async def open_endpoint(folder: Path, limits: Limits) -> AsyncIterator[Endpoint]:
    """A served endpoint."""
    log, counters = MemoryLog(), ReceiverCounters()
    log.gate.set()
    quarantine = Quarantine(folder, QuarantineSettings())
    decoder = Decoder(limits, "__replica__", SeriesTable())
    receiver = Receiver(decoder, log, limits, quarantine, counters)
    app = make_app(
        receiver, SelfMetrics(counters.values), counters, limits.body, lambda: "", lambda: ""
    )
    async with served(app) as (client, port):
        yield Endpoint(client, port, receiver, log, quarantine, folder)


@asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[tuple[ClientSession, int]]:
    runner = web.AppRunner(app, access_log=None, auto_decompress=False, shutdown_timeout=1.0)
    await runner.setup()
    port = free_ports(1)[0]
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        async with ClientSession(f"http://127.0.0.1:{port}") as client:
            yield client, port
    finally:
        await runner.cleanup()


def request_of(version: str, *series: rw.Series) -> bytes:
    return rw.request_v1(*series) if version == rw.V1 else rw.request_v2(*series)
