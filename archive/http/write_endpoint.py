"""Where plain write requests come to the receiver without aiohttp: the same door, the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from archive.http.app import WRITE_PATH
from archive.http.request_head import Head
from archive.http.response_writer import ResponseWriter
from archive.ingest.negotiation import RequestInfo, UnsupportedError, version_of
from archive.ingest.receiver import UNKNOWN, Receiver
from archive.ingest.response import WriteResponse
from archive.remote_write.v1.connection_cursor import ConnectionCursor
from archive.self_metrics import ReceiverCounters

_REQUEST_LINE: Final = f"POST {WRITE_PATH} HTTP/1.1".encode()

SenderOf = Callable[[str | None], str | None]


class WriteHandler:
    """Only what needs no second thought is admitted; refusals at the door are aiohttp's to tell."""

    def __init__(
        self,
        receiver: Receiver,
        counters: ReceiverCounters,
        sender_of: SenderOf,
        headers: Callable[[], Mapping[str, str]],
    ) -> None:
        """`sender_of` knows whose an Authorization header is: "" anybody's, None when in doubt."""
        self.request_line = _REQUEST_LINE
        self._receiver = receiver
        self._counters = counters
        self._sender_of = sender_of
        self._writer = ResponseWriter(headers)

    def admit(self, head: Head, peer: str) -> RequestInfo | None:
        sender = self._sender_of(head.authorization)
        if sender is None:
            return None
        try:
            version = version_of(head.content_type, head.content_encoding)
        except UnsupportedError:
            return None
        if not self._receiver.hold(head.size):
            return None
        return RequestInfo(version, sender or peer or UNKNOWN, head.user_agent)

    def release(self, size: int) -> None:
        self._receiver.release(size)

    def receive(
        self, about: RequestInfo, body: bytes, cursor: ConnectionCursor
    ) -> asyncio.Future[WriteResponse]:
        return self._receiver.receive_soon(about, body, cursor)

    def written(self, answer: WriteResponse) -> bytes:
        self._counters.responses[answer.code] += 1
        return self._writer.written(answer)
