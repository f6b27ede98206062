"""A source on a real server as a test wants it: opened, polled, its snapshot by name."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Final

import nats
from nats.aio.client import Client
from support.nats.servers import APP, SYS, Login, NatsCluster, NatsServer
from support.waiting import until

from exporter.model import Consumer, Outcome, Snapshot, Stream
from exporter.sources.account import AccountSource
from exporter.sources.monitor import HttpAccess, MonitorSource
from exporter.sources.servers.snapshot import SourceOptions
from exporter.sources.source import Source
from exporter.sources.system import SystemSource
from exporter.sources.transport.connection import NatsLink
from exporter.sources.transport.credentials import NatsAccess

OPTIONS: Final = SourceOptions(system="test")
POLL_SECONDS: Final = 20.0
_NOT_YET: Final = 10005  # no suitable peers for placement

Place = NatsServer | NatsCluster


def nats_access(place: Place, login: Login = APP, **changes: Any) -> NatsAccess:
    """All addresses, as that user."""
    urls = place.urls if isinstance(place, NatsCluster) else [place.url]
    return replace(NatsAccess(tuple(urls), login.user, login.password), **changes)


def http_access(place: Place) -> HttpAccess:
    urls = place.monitor_urls if isinstance(place, NatsCluster) else [place.monitor_url]
    return HttpAccess(tuple(urls))


@asynccontextmanager
async def account_source(
    access: NatsAccess, options: SourceOptions = OPTIONS
) -> AsyncIterator[AccountSource]:
    source = AccountSource(options, NatsLink(access, "test"))
    try:
        yield source
    finally:
        await source.close()


@asynccontextmanager
async def system_source(
    access: NatsAccess, options: SourceOptions = OPTIONS
) -> AsyncIterator[SystemSource]:
    source = SystemSource(options, NatsLink(access, "test"))
    try:
        yield source
    finally:
        await source.close()


@asynccontextmanager
async def monitor_source(
    access: HttpAccess, options: SourceOptions = OPTIONS
) -> AsyncIterator[MonitorSource]:
    source = MonitorSource(options, access)
    try:
        yield source
    finally:
        await source.close()


@asynccontextmanager
async def all_sources(
    place: Place, options: SourceOptions = OPTIONS
) -> AsyncIterator[dict[str, Source]]:
    """All three ways to ask: as APP, as SYS and over HTTP."""
    async with (
        account_source(nats_access(place), options) as account,
        system_source(nats_access(place, SYS), options) as system,
        monitor_source(http_access(place), options) as monitor,
    ):
        yield {"account": account, "system": system, "monitor": monitor}


async def poll(source: Source, seconds: float = POLL_SECONDS) -> Snapshot:
    return await source.poll(time.monotonic() + seconds)


def outcome(snapshot: Snapshot, request: str) -> Outcome:
    return next(each for each in snapshot.outcomes if each.request == request)


def failures(snapshot: Snapshot) -> dict[str, str]:
    """The requests that failed, and why."""
    return {each.request: each.reason for each in snapshot.outcomes if not each.ok}


def streams(snapshot: Snapshot) -> dict[str, Stream]:
    """By name; a name that is there twice is a fault of its own."""
    names = [row.name for row in snapshot.streams]
    assert len(names) == len(set(names)), names
    return {row.name: row for row in snapshot.streams}


def consumers(snapshot: Snapshot) -> dict[tuple[str, str], Consumer]:
    """By stream and name; a pair that is there twice is a fault of its own."""
    names = [(row.stream, row.name) for row in snapshot.consumers]
    assert len(names) == len(set(names)), names
    return {(row.stream, row.name): row for row in snapshot.consumers}


async def api(
    client: Client, subject: str, request: dict[str, Any] | None = None, seconds: float = 10
) -> Any:
    """The JetStream API's answer as the server wrote it, errors included."""
    payload = b"" if request is None else json.dumps(request).encode()
    message = await client.request(f"$JS.API.{subject}", payload, timeout=seconds)
    return json.loads(message.data)


async def create_stream(client: Client, name: str, **config: Any) -> Any:
    """On the subject that is its name in lower case, in memory unless it says otherwise."""
    usual = {"name": name, "subjects": [name.lower()], "storage": "memory"}
    return await _created(client, f"STREAM.CREATE.{name}", usual | config)


async def create_consumer(client: Client, stream: str, name: str, **config: Any) -> Any:
    """A durable pull consumer with explicit acks unless it says otherwise."""
    usual = {"name": name, "durable_name": name, "ack_policy": "explicit"}
    request = {"stream_name": stream, "config": usual | config}
    return await _created(client, f"CONSUMER.CREATE.{stream}.{name}", request)


async def _created(client: Client, subject: str, request: dict[str, Any]) -> Any:
    """Insists: a new cluster may not respond, or not know all its nodes yet."""

    async def send() -> Any:
        with suppress(nats.errors.TimeoutError, nats.errors.NoRespondersError):
            return await api(client, subject, request, seconds=3)
        return {"error": {"err_code": _NOT_YET}}

    def received(response: Any) -> bool:
        return bool(response.get("error", {}).get("err_code") != _NOT_YET)

    response = await until(send, received, subject)
    assert "error" not in response, response
    return response
