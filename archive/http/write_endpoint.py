"""The aiohttp handler of POST /api/v1/write: checks headers and size, reads the body."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from archive.http.auth import SENDER
from archive.ingest.protocol import RequestInfo, UnsupportedError, WriteResponse, version_of
from archive.ingest.receiver import Receiver
from archive.remote_write.v1.connection_cursor import ConnectionCursor
from archive.self_metrics import Deferred, ReceiverCounters, Refused

UNKNOWN: Final = "unknown"
# A stalled sender must not hold its share of `limits.waiting`.
BODY_SECONDS: Final = 30.0
_FEW_CURSORS: Final = 64


class WriteEndpoint:
    def __init__(self, receiver: Receiver, counters: ReceiverCounters, max_body: int) -> None:
        self._receiver = receiver
        self._counters = counters
        self._max_body = max_body
        self._cursors: dict[RequestHandler, ConnectionCursor] = {}
        self._max_cursors = _FEW_CURSORS

    async def handle(self, request: web.Request) -> web.Response:
        response = await self._write(request)
        return web.Response(
            status=response.code, text=response.text or None, headers=response.headers or None
        )

    async def _write(self, request: web.Request) -> WriteResponse:
        try:
            info = _request_info(request)
        except UnsupportedError as error:
            self._counters.refused[Refused.ENCODING] += 1
            return WriteResponse(415, str(error))
        receiver, max_body = self._receiver, self._max_body
        too_large = f"the body is larger than {max_body} bytes"
        size = max_body if request.content_length is None else request.content_length
        if size > max_body:
            return receiver.refuse(info, Refused.SIZE, too_large)
        if receiver.stopping:
            return receiver.defer(info, Deferred.STOPPING, "stopping")
        if not receiver.hold(size):
            return receiver.busy(info, Deferred.BUSY, "too many requests are in flight")
        try:
            return await receiver.receive_soon(info, await _body(request), self._cursor(request))
        except web.HTTPRequestEntityTooLarge:
            return receiver.refuse(info, Refused.SIZE, too_large)
        except TimeoutError:
            return receiver.busy(info, Deferred.SLOW, "the body did not arrive in time")
        except Exception as error:  # noqa: BLE001  any error of the connection
            return await receiver.failed(info, error)
        finally:
            receiver.release(size)

    def _cursor(self, request: web.Request) -> ConnectionCursor:
        """The cursor of the request's connection."""
        connection = request.protocol
        cursor = self._cursors.get(connection)
        if cursor is None:
            if len(self._cursors) >= self._max_cursors:
                self._drop_closed()
            cursor = self._cursors[connection] = ConnectionCursor()
        return cursor

    def _drop_closed(self) -> None:
        """aiohttp's connections cannot be weakly referenced and report no close."""
        self._cursors = {each: cursor for each, cursor in self._cursors.items() if each.connected}
        self._max_cursors = max(_FEW_CURSORS, 2 * len(self._cursors))


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
