"""Requests for the subscriptions of one server: over the system account, and over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from msgspec import Raw

from exporter.errors import MalformedResponseError, RequestError
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.row_by_row import read_jsz, read_jsz_response
from exporter.sources.decoding.wire_servers import WireJsz, WireSystemError
from exporter.sources.request_context import RequestContext
from exporter.sources.servers.jsz_pages import JszRequest, RequestJsz, read_all_accounts
from exporter.sources.subsz.wire import (
    SubszRequest,
    WireConnz,
    WireConnzResponse,
    WireQueuesResponse,
    WireSubsz,
    WireSubszResponse,
)
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.gzip_responses import unpacked

T = TypeVar("T")
# Server id, path, query -> body of the response.
HttpGet = Callable[[str, str, Mapping[str, str]], Awaitable[bytes]]


class SubszTransport(Protocol):
    """Servers are named by their ids; every method may raise RequestError."""

    async def subscriptions(self, server: str, request: SubszRequest) -> WireSubsz: ...

    async def streams(self, server: str) -> list[WireJsz]:
        """All streams of the server with their configuration, without consumers."""
        ...

    async def is_client(self, server: str, cid: int) -> bool:
        """Whether the connection is a client's; CONNZ does not list JetStream's own."""
        ...

    async def queues(self, server: str) -> Collection[str]:
        """The server's non-empty internal queues."""
        ...


class _SystemResponse(Protocol[T]):
    data: T | None
    error: WireSystemError | None


@dataclass(frozen=True, slots=True)
class SubszOverNats:
    connection: NatsConnection
    context: RequestContext
    max_response_bytes: int
    accounts_per_page: int

    async def subscriptions(self, server: str, request: SubszRequest) -> WireSubsz:
        read = partial(read_response, WireSubszResponse)
        return await self._request(server, "SUBSZ", request.payload(), read)

    async def streams(self, server: str) -> list[WireJsz]:
        async def request(request: JszRequest) -> dict[str, WireJsz]:
            payload = request.payload()
            return {server: await self._request(server, "JSZ", payload, read_jsz_response)}

        return await _pages(request, server, self.accounts_per_page)

    async def is_client(self, server: str, cid: int) -> bool:
        read = partial(read_response, WireConnzResponse)
        response = await self._request(server, "CONNZ", b'{"cid":%d}' % cid, read)
        return response.num_connections > 0

    async def queues(self, server: str) -> Collection[str]:
        read = partial(read_response, WireQueuesResponse)
        return await self._request(server, "IPQUEUESZ", b"{}", read)

    async def _request(
        self,
        server: str,
        what: str,
        payload: bytes,
        decode: Callable[[bytes, str], _SystemResponse[T]],
    ) -> T:
        left = self.context.left()
        replies = await self.connection.gather(
            f"$SYS.REQ.SERVER.{server}.{what}",
            payload,
            enough=bool,
            quiet=left,
            timeout=left,
            headers={"Accept-Encoding": "gzip"},
        )

        def read() -> _SystemResponse[T]:
            return decode(unpacked(replies[0], self.max_response_bytes), what.lower())

        response = await asyncio.to_thread(read)
        if response.error is not None:
            raise RequestError("api_error", f"{what.lower()}: {response.error.description}")
        if response.data is None:
            raise MalformedResponseError(f"{what.lower()}: neither data nor an error")
        return response.data


@dataclass(frozen=True, slots=True)
class SubszOverHttp:
    get: HttpGet
    accounts_per_page: int

    async def subscriptions(self, server: str, request: SubszRequest) -> WireSubsz:
        return await self._request(server, "subsz", request.query(), WireSubsz)

    async def streams(self, server: str) -> list[WireJsz]:
        async def request(request: JszRequest) -> dict[str, WireJsz]:
            body = await self.get(server, "jsz", request.query())
            return {server: await asyncio.to_thread(read_jsz, body, "jsz")}

        return await _pages(request, server, self.accounts_per_page)

    async def is_client(self, server: str, cid: int) -> bool:
        response = await self._request(server, "connz", {"cid": str(cid)}, WireConnz)
        return response.num_connections > 0

    async def queues(self, server: str) -> Collection[str]:
        return await self._request(server, "ipqueuesz", {}, dict[str, Raw])

    async def _request(self, server: str, path: str, query: Mapping[str, str], kind: type[T]) -> T:
        body = await self.get(server, path, query)
        return await asyncio.to_thread(read_response, kind, body, path)


async def _pages(request: RequestJsz, server: str, accounts_per_page: int) -> list[WireJsz]:
    read = await read_all_accounts(request, accounts_per_page, config=True, consumers=False)
    problem = read.problem({})
    # A malformed row costs only the counts of its stream; the request for JSZ reports it.
    if problem is not None and problem.reason != "malformed":
        raise problem
    return read.pages[server]
