"""Counts how many of a stream's last messages have a Nats-Msg-Id header.

Only the headers of a message are decoded, and nothing of it is stored.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from exporter.audit.context import MessageSample
from exporter.errors import RequestError
from exporter.model import Stream
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.wire import WireApiError
from exporter.sources.fan_out import fan_out
from exporter.sources.jetstream_api.client import INFO_SECONDS, NOT_FOUND, AccountApi, ApiError
from exporter.sources.request_context import RequestContext
from exporter.subscription_counts import StreamKey

MESSAGES_PER_STREAM = 20
MOST_STREAMS = 500
_ID_HEADER = b"\r\nnats-msg-id:"


class _Message(Struct, gc=False):
    """The payload is not declared, so it is never decoded."""

    hdrs: str = ""


class _GotMessage(Struct, gc=False):
    message: _Message | None = None
    error: WireApiError | None = None


@dataclass(frozen=True, slots=True)
class MessageIds:
    api: AccountApi
    concurrency: int = 12

    async def read(
        self, streams: Iterable[Stream], context: RequestContext
    ) -> tuple[dict[StreamKey, MessageSample], RequestError | None]:
        """For streams with messages and a duplicate window; the error names what is missing."""
        found: dict[StreamKey, MessageSample] = {}

        async def one(row: Stream) -> None:
            found[row.account, row.name] = await self._sample(row, context)

        wanted = [row for row in streams if _is_sampled(row)]
        left = len(wanted) - MOST_STREAMS
        beyond = f"{left} streams beyond {MOST_STREAMS} were not sampled"
        error = RequestError("partial", beyond) if left > 0 else None
        try:
            await fan_out(wanted[:MOST_STREAMS], one, self.concurrency, context, "streams")
        except RequestError as failure:
            error = failure
        return found, error

    async def _sample(self, row: Stream, context: RequestContext) -> MessageSample:
        read = with_id = 0
        first = max(row.first_seq, row.last_seq - MESSAGES_PER_STREAM + 1)
        for seq in range(row.last_seq, first - 1, -1):
            headers = await self._headers(row.name, seq, context)
            if headers is not None:
                read += 1
                with_id += _ID_HEADER in headers.lower()
        return MessageSample(read, with_id)

    async def _headers(self, stream: str, seq: int, context: RequestContext) -> bytes | None:
        """None when the message is no longer stored."""
        subject = f"{self.api.prefix}.STREAM.MSG.GET.{stream}"
        request = msgspec.json.encode({"seq": seq})
        reply = await self.api.connection.request(
            subject, request, timeout=context.left(INFO_SECONDS)
        )
        got = read_response(_GotMessage, reply.data, subject)
        if got.error is not None and got.error.code != NOT_FOUND:
            raise ApiError(subject, got.error)
        return base64.b64decode(got.message.hdrs) if got.message else None


def _is_sampled(row: Stream) -> bool:
    config = row.config
    return (
        row.up
        and row.messages > 0
        and config is not None
        and config.duplicate_window_seconds is not None
        and not config.mirror
    )
