"""POST /api/v1/write: checks headers and size, reads the body. The handler of aiohttp."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from aiohttp import web

from archive.http.auth import SENDER, Access
from archive.http.repeated_requests import RepeatedRequests
from archive.ingest.protocol import RequestInfo, UnsupportedError, WriteResponse, version_of
from archive.ingest.receiver import Receiver
from archive.remote_write.v1.connection_cursor import ConnectionCursor
from archive.self_metrics import Deferred, ReceiverCounters, Refused
from streamgauge.serving.web.connection import Connection

UNKNOWN: Final = "unknown"
# A stalled sender must not hold its share of `limits.waiting`.
BODY_SECONDS: Final = 30.0


class WriteEndpoint:
    def __init__(
        self, receiver: Receiver, counters: ReceiverCounters, max_body: int, access: Access
    ) -> None:
        self.receiver = receiver
        self.counters = counters
        self.access = access
        self.in_flight: set[asyncio.Future[WriteResponse]] = set()
        """Responses of requests that aiohttp does not know."""
        self.max_body = max_body
        self.connections: dict[asyncio.Protocol, RepeatedRequests] = {}
        self._cursor = ConnectionCursor()  # of connections without one

    def connection(self, connection: Connection, http: asyncio.Protocol) -> asyncio.Protocol:
        """The protocol of a new connection; `http` is that of aiohttp."""
        return RepeatedRequests(self, connection, http)

    async def finish(self, seconds: float) -> None:
        """Waits for the responses of `in_flight`."""
        if self.in_flight:
            await asyncio.wait(self.in_flight, timeout=seconds)

    async def handle(self, request: web.Request) -> web.Response:
        response = await self._write(request)
        return web.Response(
            status=response.code, text=response.text or None, headers=response.headers or None
        )

    async def _write(self, request: web.Request) -> WriteResponse:
        try:
            info = _request_info(request)
        except UnsupportedError as error:
            self.counters.refused[Refused.ENCODING] += 1
            return WriteResponse(415, str(error))
        receiver, max_body = self.receiver, self.max_body
        too_large = f"the body is larger than {max_body} bytes"
        size = max_body if request.content_length is None else request.content_length
        if size > max_body:
            return receiver.refuse(info, Refused.SIZE, too_large)
        if receiver.stopping:
            return receiver.defer(info, Deferred.STOPPING, "stopping")
        if not receiver.hold(size):
            return receiver.busy(info, Deferred.BUSY, "too many requests are in flight")
        try:
            return await self._receive(request, info, await _body(request))
        except web.HTTPRequestEntityTooLarge:
            return receiver.refuse(info, Refused.SIZE, too_large)
        except TimeoutError:
            return receiver.busy(info, Deferred.SLOW, "the body did not arrive in time")
        except Exception as error:  # noqa: BLE001  any error of the connection
            return await receiver.failed(info, error)
        finally:
            receiver.release(size)

    async def _receive(self, request: web.Request, info: RequestInfo, body: bytes) -> WriteResponse:
        connection = self.connections.get(request.protocol)
        cursor = self._cursor if connection is None else connection.cursor
        response = await self.receiver.receive_soon(info, body, cursor)
        if connection is not None and response.code == HTTPStatus.NO_CONTENT:
            connection.learn(request, info)
        return response


def _request_info(request: web.Request) -> RequestInfo:
    """Raises UnsupportedError."""
    headers = request.headers
    version = version_of(headers.get("Content-Type", ""), headers.get("Content-Encoding", ""))
    sender = request.get(SENDER) or request.remote or UNKNOWN
    return RequestInfo(version, sender, headers.get("User-Agent", ""))


async def _body(request: web.Request) -> bytes:
    if request.content.is_eof():  # the body arrived with the headers
        return await request.read()
    async with asyncio.timeout(BODY_SECONDS):
        return await request.read()
