"""Replays recorded responses to the real sources; any other request fails.

The clock is that of the recording, so that ages and offsets are the recorded ones.
"""

import asyncio
import gzip
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final
from unittest import mock

from support.recordings.recording_file import (
    Exchange,
    RecordedReply,
    RecordingFile,
    http_request,
    nats_request,
)

from exporter.errors import RequestError
from exporter.model import Snapshot
from exporter.sources.account import AccountSource
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.wire_servers import WireVarz
from exporter.sources.monitor import HttpAccess, MonitorSource
from exporter.sources.request_context import RequestContext
from exporter.sources.servers.snapshot import SourceOptions
from exporter.sources.source import Source
from exporter.sources.system import SystemSource
from exporter.sources.transport.connection import NatsConnection, Reply
from exporter.sources.transport.credentials import NatsAccess

FOLDER: Final = Path(__file__).parents[2] / "recorded"
SOURCES: Final = ("account", "system", "monitor")
POLL_SECONDS: Final = 10.0


class NotRecordedError(AssertionError):
    """No recording of this request: record again, or the source sends too many requests."""


@dataclass(frozen=True, order=True)
class Recording:
    """Identifies a file: recorded/<version>/<scenario>/<source>.json."""

    version: str
    scenario: str
    source: str

    @property
    def path(self) -> Path:
        return FOLDER / self.version / self.scenario / f"{self.source}.json"

    def __str__(self) -> str:
        return f"{self.version}-{self.scenario}-{self.source}"


def recordings(scenario: str | None = None) -> tuple[Recording, ...]:
    """All recordings, oldest server first."""
    found = [
        Recording(path.parts[-3], path.parts[-2], path.stem) for path in FOLDER.glob("*/*/*.json")
    ]
    kept = [each for each in found if scenario is None or each.scenario == scenario]
    return tuple(
        sorted(kept, key=lambda each: (_numbers(each.version), each.scenario, each.source))
    )


@cache
def snapshot(recording: Recording, system: str = "nats") -> Snapshot:
    """The first poll of a source that starts in this scenario."""
    return replay(recording, system=system)[0]


def replay(*scenarios: Recording, system: str = "nats") -> list[Snapshot]:
    """One source, polled once in each of these scenarios."""
    return asyncio.run(_replay(scenarios, system))


async def _replay(scenarios: tuple[Recording, ...], system: str) -> list[Snapshot]:
    files = [RecordingFile.load(scenario.path) for scenario in scenarios]
    replayer = Replayer(files[0])
    source = replayer.source(scenarios[0].source, system)
    found = []
    for file in files:
        with replayer.playing(file):
            found.append(await source.poll(time.monotonic() + POLL_SECONDS))
    await source.close()
    return found


class Replayer:
    """Responds from a recording and moves the clock with it."""

    def __init__(self, file: RecordingFile) -> None:
        self.file = file
        self._now = 0.0

    def source(self, kind: str, system: str) -> Source:
        options = SourceOptions(system=system)
        if kind == "monitor":
            return RecordedMonitor(options, HttpAccess(self.file.addresses), replayer=self)
        connection = RecordedLink(self)
        return (
            SystemSource(options, connection)
            if kind == "system"
            else AccountSource(options, connection)
        )

    @contextmanager
    def playing(self, file: RecordingFile) -> Iterator[None]:
        self.file = file
        self._now = min(each.sent for each in file.exchanges.values())
        with mock.patch("time.time", self._time):
            yield

    def _time(self) -> float:
        return self._now

    def response(self, request: str) -> tuple[Exchange, tuple[RecordedReply, ...]]:
        exchange = self.file.exchanges.get(request)
        if exchange is None:
            known = "\n  ".join(self.file.exchanges)
            raise NotRecordedError(f"request:\n  {request}\nrecorded are only:\n  {known}")
        self._now = max(self._now, exchange.ended)
        if exchange.error is not None:
            raise RequestError(exchange.error.reason, exchange.error.detail)
        return exchange, exchange.replies


class RecordedLink(NatsConnection):
    """A connection without a socket."""

    def __init__(self, replayer: Replayer) -> None:
        super().__init__(NatsAccess(()), "replay")
        self._replayer = replayer
        self.reconnects = 0

    @property
    def server_info(self) -> Mapping[str, Any]:
        return self._replayer.file.server_info

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def request(self, subject: str, payload: bytes = b"", *, timeout: float) -> Reply:
        exchange, replies = self._replayer.response(nats_request(subject, payload))
        return _reply(exchange, replies[0])

    async def gather(self, subject: str, payload: bytes = b"", **_: Any) -> list[Reply]:
        exchange, replies = self._replayer.response(nats_request(subject, payload))
        return [_reply(exchange, reply) for reply in replies]


@dataclass(slots=True)
class RecordedMonitor(MonitorSource):
    """The HTTP ports without a socket."""

    replayer: Replayer = field(kw_only=True)

    async def _get(
        self,
        address: str,
        path: str,
        query: Mapping[str, str],
        context: RequestContext,
        statuses: frozenset[int] = frozenset({200}),
    ) -> tuple[bytes, int]:
        _, replies = self.replayer.response(http_request(address, path, query))
        return replies[0].text.encode(), replies[0].status

    async def _timed_varz(
        self, address: str, context: RequestContext
    ) -> tuple[WireVarz, float, float]:
        exchange, replies = self.replayer.response(http_request(address, "varz", {}))
        varz = read_response(WireVarz, replies[0].text.encode(), "varz")
        return varz, exchange.sent, replies[0].round_trip


def _reply(exchange: Exchange, reply: RecordedReply) -> Reply:
    data = reply.text.encode()
    if reply.headers.get("Content-Encoding") == "gzip":
        data = gzip.compress(data)
    return Reply(data, reply.headers, exchange.sent, reply.round_trip)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))
