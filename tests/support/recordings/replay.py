"""Replays recorded answers to the real sources: what was recorded is answered, nothing else.

The clock stands at the moment of the recording, so that ages and offsets are what they were.
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

from support.recordings.recording_file import Exchange, Tape, TapedReply, http_request, nats_request

from exporter.errors import RequestError
from exporter.model import Snapshot
from exporter.sources.account import AccountSource
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.wire import WireVarz
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
    """A source asked what no recording answers: record anew, or the source asks too much."""


@dataclass(frozen=True, order=True)
class Recording:
    """Which file: recorded/<version>/<scene>/<source>.json."""

    version: str
    scene: str
    source: str

    @property
    def path(self) -> Path:
        return FOLDER / self.version / self.scene / f"{self.source}.json"

    def __str__(self) -> str:
        return f"{self.version}-{self.scene}-{self.source}"


def recordings(scene: str | None = None) -> tuple[Recording, ...]:
    """Every recording there is, oldest server first."""
    found = [
        Recording(path.parts[-3], path.parts[-2], path.stem) for path in FOLDER.glob("*/*/*.json")
    ]
    kept = [each for each in found if scene is None or each.scene == scene]
    return tuple(sorted(kept, key=lambda each: (_numbers(each.version), each.scene, each.source)))


@cache
def snapshot(recording: Recording, system: str = "nats") -> Snapshot:
    """What a source that starts in this scene finds in its first poll."""
    return replay(recording, system=system)[0]


def replay(*scenes: Recording, system: str = "nats") -> list[Snapshot]:
    """One source that lives through these scenes, polled once in each."""
    return asyncio.run(_replay(scenes, system))


async def _replay(scenes: tuple[Recording, ...], system: str) -> list[Snapshot]:
    tapes = [Tape.load(scene.path) for scene in scenes]
    player = Player(tapes[0])
    source = player.source(scenes[0].source, system)
    found = []
    for tape in tapes:
        with player.playing(tape):
            found.append(await source.poll(time.monotonic() + POLL_SECONDS))
    await source.close()
    return found


class Player:
    """Answers from a tape and moves the clock along with it."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self._now = 0.0

    def source(self, kind: str, system: str) -> Source:
        options = SourceOptions(system=system)
        if kind == "monitor":
            return RecordedMonitor(options, HttpAccess(self.tape.addresses), player=self)
        connection = RecordedLink(self)
        return (
            SystemSource(options, connection)
            if kind == "system"
            else AccountSource(options, connection)
        )

    @contextmanager
    def playing(self, tape: Tape) -> Iterator[None]:
        self.tape = tape
        self._now = min(each.sent for each in tape.exchanges.values())
        with mock.patch("time.time", self._time):
            yield

    def _time(self) -> float:
        return self._now

    def response(self, request: str) -> tuple[Exchange, tuple[TapedReply, ...]]:
        exchange = self.tape.exchanges.get(request)
        if exchange is None:
            known = "\n  ".join(self.tape.exchanges)
            raise NotRecordedError(f"asked:\n  {request}\nrecorded are only:\n  {known}")
        self._now = max(self._now, exchange.ended)
        if exchange.error is not None:
            raise RequestError(exchange.error.reason, exchange.error.detail)
        return exchange, exchange.replies


class RecordedLink(NatsConnection):
    """A connection without a socket."""

    def __init__(self, player: Player) -> None:
        super().__init__(NatsAccess(()), "replay")
        self._player = player
        self.reconnects = 0

    @property
    def server_info(self) -> Mapping[str, Any]:
        return self._player.tape.server_info

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def request(self, subject: str, payload: bytes = b"", *, timeout: float) -> Reply:
        exchange, replies = self._player.response(nats_request(subject, payload))
        return _reply(exchange, replies[0])

    async def gather(self, subject: str, payload: bytes = b"", **_: Any) -> list[Reply]:
        exchange, replies = self._player.response(nats_request(subject, payload))
        return [_reply(exchange, reply) for reply in replies]


@dataclass(slots=True)
class RecordedMonitor(MonitorSource):
    """The HTTP ports without a socket."""

    player: Player = field(kw_only=True)

    async def _get(
        self,
        address: str,
        path: str,
        query: Mapping[str, str],
        context: RequestContext,
        statuses: frozenset[int] = frozenset({200}),
    ) -> tuple[bytes, int]:
        _, replies = self.player.response(http_request(address, path, query))
        return replies[0].text.encode(), replies[0].status

    async def _timed_varz(
        self, address: str, context: RequestContext
    ) -> tuple[WireVarz, float, float]:
        exchange, replies = self.player.response(http_request(address, "varz", {}))
        varz = read_response(WireVarz, replies[0].text.encode(), "varz")
        return varz, exchange.sent, replies[0].round_trip


def _reply(exchange: Exchange, reply: TapedReply) -> Reply:
    data = reply.text.encode()
    if reply.headers.get("Content-Encoding") == "gzip":
        data = gzip.compress(data)
    return Reply(data, reply.headers, exchange.sent, reply.round_trip)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))
