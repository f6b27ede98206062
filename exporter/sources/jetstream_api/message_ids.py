"""Counts how many of a stream's last messages have a Nats-Msg-Id header, and how many repeat another.

Only headers are decoded. Ids and payloads are compared within one sample, and nothing is stored.
"""

from __future__ import annotations

import base64
import re
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
_COMPARED = 24  # 16 bytes in base64: shorter payloads are often equal
_ID_HEADER = re.compile(rb"\r\nNats-Msg-Id:([^\r\n]*)", re.IGNORECASE)


class _Message(Struct, gc=False):
    """The payload stays as it is encoded: it is only compared."""

    subject: str = ""
    hdrs: str = ""
    data: str = ""


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
        """For streams with messages and a duplicate window or sources; the error names gaps."""
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
        first = max(row.first_seq, row.last_seq - MESSAGES_PER_STREAM + 1)
        messages = [
            message
            for seq in range(row.last_seq, first - 1, -1)
            if (message := await self._message(row.name, seq, context)) is not None
        ]
        return _compared(messages)

    async def _message(self, stream: str, seq: int, context: RequestContext) -> _Message | None:
        """None when the message is no longer stored."""
        subject = f"{self.api.prefix}.STREAM.MSG.GET.{stream}"
        request = msgspec.json.encode({"seq": seq})
        reply = await self.api.connection.request(
            subject, request, timeout=context.left(INFO_SECONDS)
        )
        got = read_response(_GotMessage, reply.data, subject)
        if got.error is not None and got.error.code != NOT_FOUND:
            raise ApiError(subject, got.error)
        return got.message


def _compared(messages: list[_Message]) -> MessageSample:
    ids = [found for each in messages if (found := _id(each)) is not None]
    contents = [
        (each.subject, each.data, found)
        for each in messages
        if len(each.data) >= _COMPARED and (found := _id(each)) is not None
    ]
    renamed = len(set(contents)) - len({(subject, data) for subject, data, _ in contents})
    return MessageSample(len(messages), len(ids), len(ids) - len(set(ids)), renamed)


def _id(message: _Message) -> bytes | None:
    found = _ID_HEADER.search(base64.b64decode(message.hdrs))
    return found[1].strip() if found else None


def _is_sampled(row: Stream) -> bool:
    config = row.config
    return (
        row.up
        and row.messages > 0
        and config is not None
        and (config.duplicate_window_seconds is not None or config.sourced)
        and not config.mirror
    )
