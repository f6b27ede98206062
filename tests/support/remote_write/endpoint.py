"""A receiver behind HTTP with a log in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from aiohttp import ClientResponse, ClientSession, web
from prometheus_client.parser import text_string_to_metric_families
from support.remote_write import messages as rw

from archive.batch import Batch, SeriesDefinition
from archive.http.app import WRITE_PATH, make_app
from archive.http.auth import Access, BearerTokens
from archive.http.write_endpoint import WriteEndpoint
from archive.ingest.quarantine import Quarantine
from archive.ingest.receiver import Receiver
from archive.remote_write.decoder import Decoder
from archive.self_metrics import ReceiverCounters, SelfMetrics
from archive.series.table import SeriesTable
from archive.settings.limits import Limits
from archive.settings.quarantine import QuarantineSettings
from archive.wal.group_commit import Done
from streamgauge.demo.processes.ports import free_ports
from streamgauge.serving.settings.server import ServerSettings
from streamgauge.serving.web.connection_limits import ConnectionLimits
from streamgauge.serving.web.live_config import LiveWebConfig
from streamgauge.serving.web.server import HttpServer

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
    handler: CountingEndpoint
    is_repeated: bool = False

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
async def open_endpoint(
    folder: Path, limits: Limits, token_files: Mapping[str, Path] | None = None
) -> AsyncIterator[Endpoint]:
    """A served endpoint; with files of bearer tokens, which its client does not send."""
    log, counters = MemoryLog(), ReceiverCounters()
    log.gate.set()
    quarantine = Quarantine(folder, QuarantineSettings())
    decoder = Decoder(limits, "__replica__", SeriesTable())
    receiver = Receiver(decoder, log, limits, quarantine, counters)
    tokens = await asyncio.to_thread(BearerTokens, token_files or {})
    access = Access(LiveWebConfig(), tokens)
    handler = CountingEndpoint(receiver, counters, limits.body, access)
    app = make_app(handler, SelfMetrics(counters.values), lambda: "", lambda: "")
    access.protect(app)
    settings = ServerSettings(listen_address=f"127.0.0.1:{free_ports(1)[0]}")
    server = HttpServer(
        app,
        settings,
        ConnectionLimits(settings, 1024),
        auto_decompress=False,
        connection=handler.connection,
    )
    await server.start()
    try:
        async with ClientSession(server.url) as client:
            port = int(settings.listen_address.rpartition(":")[2])
            yield Endpoint(client, port, receiver, log, quarantine, folder, handler)
    finally:
        await server.stop()


class CountingEndpoint(WriteEndpoint):
    """Counts the requests that aiohttp handles."""

    handled = 0

    async def handle(self, request: web.Request) -> web.Response:
        self.handled += 1
        return await super().handle(request)


def request_of(version: str, *series: rw.Series) -> bytes:
    return rw.request_v1(*series) if version == rw.V1 else rw.request_v2(*series)
