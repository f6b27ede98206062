"""Finds the first message at or after a sequence that matches a filter, and its timestamp.

Only the timestamp and the sequence are decoded, never the payload.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import Struct

from exporter.errors import MalformedResponseError, RequestError
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.wire import WireApiError
from exporter.sources.jetstream_api.client import INFO_SECONDS, NOT_FOUND, AccountApi, ApiError
from exporter.sources.request_context import RequestContext
from exporter.sources.transport.connection import Reply

ALL_SUBJECTS = ">"


class FoundMessage(NamedTuple):
    seq: int
    stored: float  # Unix time of the server


class _Message(Struct, gc=False):
    """Payload and headers are not declared, so they are never decoded."""

    seq: int
    time: datetime


class _GotMessage(Struct, gc=False):
    message: _Message | None = None
    error: WireApiError | None = None


@dataclass(frozen=True, slots=True)
class MessageReader:
    api: AccountApi

    async def first(
        self,
        stream: str,
        start: int,
        filters: tuple[str, ...],
        *,
        direct: bool,
        context: RequestContext,
    ) -> FoundMessage | None:
        """None when no such message is stored."""
        found = [
            await self._first_of(stream, start, wanted, direct=direct, context=context)
            for wanted in filters or (ALL_SUBJECTS,)
        ]
        return min((each for each in found if each is not None), default=None)

    async def _first_of(
        self, stream: str, start: int, wanted: str, *, direct: bool, context: RequestContext
    ) -> FoundMessage | None:
        # Without a subject the server returns only this sequence, which may be deleted.
        request = msgspec.json.encode({"seq": start, "next_by_subj": wanted})
        found = await self._direct(stream, request, context) if direct else None
        # A replica may be behind, and a mirror may store what its origin deleted: then use the leader.
        return found or await self._from_leader(stream, request, context)

    async def _direct(
        self, stream: str, request: bytes, context: RequestContext
    ) -> FoundMessage | None:
        subject = f"{self.api.prefix}.DIRECT.GET.{stream}"
        try:
            reply = await self.api.connection.request(
                subject, request, timeout=context.left(INFO_SECONDS)
            )
        except RequestError as error:
            if error.reason != "no_responders":  # else direct get was disabled meanwhile
                raise
            return None
        return _from_headers(reply, stream, subject)

    async def _from_leader(
        self, stream: str, request: bytes, context: RequestContext
    ) -> FoundMessage | None:
        subject = f"{self.api.prefix}.STREAM.MSG.GET.{stream}"
        reply = await self.api.connection.request(
            subject, request, timeout=context.left(INFO_SECONDS)
        )
        got = read_response(_GotMessage, reply.data, subject)
        if got.error is not None and got.error.code != NOT_FOUND:
            raise ApiError(subject, got.error)
        return FoundMessage(got.message.seq, got.message.time.timestamp()) if got.message else None


def _from_headers(reply: Reply, stream: str, subject: str) -> FoundMessage | None:
    """The server writes its headers after those of the message, so they win."""
    headers = reply.headers
    if "Nats-Sequence" not in headers or headers.get("Nats-Stream") != stream:
        return None
    try:
        stored = msgspec.convert(headers.get("Nats-Time-Stamp"), datetime)
        return FoundMessage(int(headers["Nats-Sequence"]), stored.timestamp())
    except ValueError:  # includes msgspec errors; their text would quote a header
        raise MalformedResponseError(f"{subject}: no readable sequence and time") from None
