"""Publish accounting on real servers as a test wants it: a poll, a little later another snapshot."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import aiohttp
from msgspec import structs
from nats.aio.client import Client
from support.exporter.source_polls import (
    OPTIONS,
    Place,
    http_access,
    monitor_source,
    nats_access,
    poll,
    system_source,
)
from support.nats.servers import APP, SYS, Login, NatsServer

from exporter.model import Snapshot
from exporter.signals.publishes.engine import (
    ConsumerReplies,
    PublishSignals,
    PublishState,
    StreamPublishes,
    TapCounts,
)
from exporter.sources.decoding.wire_servers import WireJsz
from exporter.sources.monitor import MonitorSource
from exporter.sources.request_context import RequestContext, SkippedRequests
from exporter.sources.source import Source
from exporter.sources.subsz.reader import CEILING, SubszReader, SubszResult
from exporter.sources.subsz.transport import SubszOverHttp, SubszOverNats, SubszTransport
from exporter.sources.subsz.wire import SubszRequest, WireSubsz
from exporter.sources.system import SystemSource
from exporter.sources.transport.credentials import NatsAccess

ACCOUNT: Final = "APP"
INTERVAL_SECONDS: Final = 15.0
_FAR_AWAY: Final = 1e12
# Configuration in every poll: a stream counts only once its configuration is known.
_OPTIONS: Final = replace(OPTIONS, config_interval=0.0)


@dataclass
class Accounting:
    """Requests as a poll does: subscriptions first, then the snapshot that updates the state."""

    source: Source
    request: SubszTransport
    reader: SubszReader
    state: PublishState = field(default_factory=PublishState)
    tap: TapCounts | None = None
    snapshot: Snapshot | None = None
    ahead: float = 0.0  # seconds that the clock of the state is ahead of the real one
    measurement: SubszResult | None = None

    async def poll(self) -> PublishSignals:
        if self.snapshot is None:
            self.snapshot = await poll(self.source)
        servers = {server.id: server.name for server in self.snapshot.servers if server.up}
        self.measurement = await self.reader.read(self.request, servers)
        assert self.measurement.error is None, self.measurement.error
        return await self._next(self.measurement)

    async def signals(self) -> PublishSignals:
        """After a poll with counts and the next poll, when everything counted is settled."""
        await self.poll()
        self.ahead += INTERVAL_SECONDS
        return await self._next(None)

    async def stream(self, name: str, account: str = ACCOUNT) -> StreamPublishes:
        return (await self.signals()).streams[account, name]

    async def consumer(self, stream: str, name: str) -> ConsumerReplies:
        return (await self.signals()).consumers[ACCOUNT, stream, name]

    async def _next(self, measurement: SubszResult | None) -> PublishSignals:
        self.snapshot = await poll(self.source)
        counts = measurement.counts if measurement is not None else None
        later = structs.replace(self.snapshot, taken=self.snapshot.taken + self.ahead)
        return self.state.update(counts, later, self.tap)


@asynccontextmanager
async def accounting(
    place: Place, how: str = "system", ceiling: int = CEILING
) -> AsyncIterator[Accounting]:
    """With a first poll made, from which everything is counted."""
    async with _source(place, how) as (source, request):
        yield await _begun(source, request, ceiling)


@asynccontextmanager
async def accounting_as(access: NatsAccess) -> AsyncIterator[Accounting]:
    """The same as that user of the system account."""
    async with system_source(access, _OPTIONS) as source:
        yield await _begun(source, over_nats(source))


async def _begun(source: Source, request: SubszTransport, ceiling: int = CEILING) -> Accounting:
    watched = Accounting(source, request, SubszReader("test", ceiling=ceiling))
    await watched.signals()
    return watched


@dataclass
class RequestRecorder:
    """Another transport, with every request that was sent through it."""

    request: SubszTransport
    lists: list[SubszRequest] = field(default_factory=list)
    lookups: list[int] = field(default_factory=list)

    async def subscriptions(self, server: str, request: SubszRequest) -> WireSubsz:
        if request.rows:
            self.lists.append(request)
        return await self.request.subscriptions(server, request)

    async def streams(self, server: str) -> WireJsz:
        return await self.request.streams(server)

    async def queues(self, server: str) -> Collection[str]:
        return await self.request.queues(server)

    async def is_client(self, server: str, cid: int) -> bool:
        self.lookups.append(cid)
        return await self.request.is_client(server, cid)


@asynccontextmanager
async def _source(place: Place, how: str) -> AsyncIterator[tuple[Source, SubszTransport]]:
    if how == "system":
        async with system_source(nats_access(place, SYS), _OPTIONS) as source:
            yield source, over_nats(source)
        return
    async with (
        monitor_source(http_access(place), _OPTIONS) as source,
        aiohttp.ClientSession() as session,
    ):
        yield source, await over_http(source, session)


def over_nats(source: SystemSource) -> SubszTransport:
    context, most = RequestContext(_FAR_AWAY, SkippedRequests()), source.options.max_response_bytes
    return SubszOverNats(source.connection, context, most, source.accounts_per_page)


async def over_http(source: MonitorSource, session: aiohttp.ClientSession) -> SubszTransport:
    async def get(server: str, path: str, query: Mapping[str, str]) -> bytes:
        url = f"{addresses[server]}/{path}"
        async with session.get(url, params=query) as response:
            assert response.status == 200, await response.text()
            return await response.read()

    addresses: dict[str, str] = {}
    for address in source.access.addresses:
        async with session.get(f"{address}/varz") as response:
            addresses[(await response.json(content_type=None))["server_id"]] = address
    return SubszOverHttp(get, source.accounts_per_page)


async def publish(
    client: Client, subject: str, number: int = 1, ids: int = 0, **headers: str
) -> list[dict[str, Any]]:
    """Acknowledged one by one; with `ids` so many message ids take turns."""
    acks = []
    for place in range(number):
        own = {"Nats-Msg-Id": f"id-{place % ids}"} if ids else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        message = await client.request(subject, b"x", headers={**own, **named} or None, timeout=10)
        acks.append(json.loads(message.data))
    return acks


async def flood(client: Client, subject: str, stop: asyncio.Event, ids: int = 0) -> int:
    """Publishes as fast as it can without waiting for acks; gives how many it sent."""
    sent = 0
    while not stop.is_set():
        for _ in range(200):
            headers = {"Nats-Msg-Id": f"f-{sent % ids}"} if ids else None
            await client.publish(subject, b"x" * 64, headers=headers)
            sent += 1
        await client.flush()
    return sent


async def trickle(client: Client, subject: str, stop: asyncio.Event) -> int:
    """Publishes each message twice, one after the other, and never pauses; gives how many twice."""
    twice = 0
    while not stop.is_set():
        headers = {"Nats-Msg-Id": f"t-{twice}"}
        for _ in range(2):
            await client.request(subject, b"x" * 64, headers=headers, timeout=10)
        twice += 1
    return twice


@asynccontextmanager
async def many_subscriptions(
    server: NatsServer, number: int, login: Login = APP
) -> AsyncIterator[None]:
    """One connection that listens to so many subjects; by hand, for a library takes minutes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.ports.client)
    try:
        await reader.readline()
        user = {"user": login.user, "pass": login.password, "verbose": False}
        writer.write(f"CONNECT {json.dumps(user)}\r\n".encode())
        for first in range(0, number, 10_000):
            lines = (f"SUB bulk.{n}.* {n + 1}\r\n" for n in range(first, first + 10_000))
            writer.write("".join(lines).encode())
            await writer.drain()
        writer.write(b"PING\r\n")
        while (await reader.readline()).strip() != b"PONG":
            pass
        yield
    finally:
        writer.close()
        await writer.wait_closed()
