"""Reads consumer advisories from a capture stream that the user created.

Uses message get from the last counted sequence, never a consumer. When configured, it is the only
counter of consumer advisories, so none is counted twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from exporter.errors import RequestError
from exporter.events import advisories
from exporter.events.advisories import read_advisory
from exporter.events.state import OWN, EventState
from exporter.sources.decoding.decode import read_response, version_numbers
from exporter.sources.decoding.wire import WireApiError
from exporter.sources.jetstream_api.client import api_prefix
from exporter.sources.transport.connection import NatsConnection
from streamgauge.serving.logs import StateLog

logger = logging.getLogger(__name__)

_CONSUMER = advisories.PREFIX + "CONSUMER."
_NO_MESSAGE = 10037
_REQUEST_SECONDS = 2.0
# One request per message: servers before 2.11 have no batch get, and 2.11 only as direct get.
_AT_ONCE = 32
# Before 2.14 a restart moves `created` by less than a millisecond.
_RECREATED = timedelta(seconds=1)


class _State(Struct, gc=False):
    first_seq: int = 0
    last_seq: int = 0


class _StreamInfo(Struct, gc=False):
    created: datetime | None = None
    state: _State = msgspec.field(default_factory=_State)
    error: WireApiError | None = None


class _Stored(Struct, gc=False):
    seq: int = 0
    subject: str = ""
    data: bytes = b""  # in base64 on the wire


class _GotMessage(Struct, gc=False):
    message: _Stored | None = None
    error: WireApiError | None = None


@dataclass(slots=True)
class Capture:
    """Counts the messages that are stored after the first poll."""

    connection: NatsConnection
    state: EventState
    stream: str
    domain: str | None = None
    most_per_poll: int = 10_000
    behind: int = 0  # stored messages not yet read
    problem: str = ""
    _seen: int | None = None  # the last counted sequence; None before the first poll
    _created: datetime | None = None
    _log: StateLog = field(default_factory=lambda: StateLog(logger))

    async def catch_up(self, deadline: float) -> None:
        """Counts what was stored since the last call; `deadline` is a time.monotonic()."""
        try:
            await self._read_on(deadline)
        except RequestError as error:
            self._report(str(error))
        else:
            self._report("")

    async def _read_on(self, deadline: float) -> None:
        info = await self._stream_info(deadline)
        last, seen = info.state.last_seq, self._seen_of(info)
        start = max(seen + 1, info.state.first_seq)
        end = min(last, start + self.most_per_poll - 1)
        self._seen, self.behind = start - 1, last - (start - 1)
        for first in range(start, end + 1, _AT_ONCE):
            if time.monotonic() >= deadline:
                break
            batch = range(first, min(first + _AT_ONCE, end + 1))
            self._count(await self._messages(batch, deadline))
            self._seen, self.behind = batch[-1], last - batch[-1]

    def _seen_of(self, info: _StreamInfo) -> int:
        """The last counted sequence of this stream."""
        before, self._created = self._created, info.created
        if self._seen is None:
            return info.state.last_seq
        if before and info.created and abs(info.created - before) > _RECREATED:
            return 0  # recreated: every message is new
        # A killed server may have lost the last messages and reuse their sequences.
        return min(self._seen, info.state.last_seq)

    def _count(self, messages: Iterable[_Stored]) -> None:
        version = version_numbers(str(self.connection.server_info.get("version", "")))
        reported = version >= advisories.TERM_REASONS_SINCE
        for message in messages:
            if message.subject.startswith(_CONSUMER):
                advisory = read_advisory(message.subject, message.data)
                self.state.record(OWN, advisory, reasons_reported=reported)

    async def _messages(self, seqs: range, deadline: float) -> list[_Stored]:
        """The whole batch or an error: a part of it would be counted twice."""
        responses = await asyncio.gather(
            *(self._message(seq, deadline) for seq in seqs), return_exceptions=True
        )
        for response in responses:
            if isinstance(response, BaseException):
                raise response
        return [response for response in responses if isinstance(response, _Stored)]

    async def _message(self, seq: int, deadline: float) -> _Stored | None:
        """None when it is no longer stored."""
        subject = f"{api_prefix(self.domain)}.STREAM.MSG.GET.{self.stream}"
        payload = msgspec.json.encode({"seq": seq})
        reply = await self.connection.request(subject, payload, timeout=_left(deadline))
        got = read_response(_GotMessage, reply.data, subject)
        if got.error is not None and got.error.err_code != _NO_MESSAGE:
            raise _refused(subject, got.error)
        return got.message

    async def _stream_info(self, deadline: float) -> _StreamInfo:
        subject = f"{api_prefix(self.domain)}.STREAM.INFO.{self.stream}"
        reply = await self.connection.request(subject, timeout=_left(deadline))
        info = read_response(_StreamInfo, reply.data, subject)
        if info.error is not None:
            raise _refused(subject, info.error)
        return info

    def _report(self, problem: str) -> None:
        self.problem = problem
        if problem:
            message = "capture stream cannot be read, consumer events are not counted"
            self._log.report("read", False, logging.WARNING, message, stream=self.stream,
                             reason=problem)  # fmt: skip
        else:
            message = "capture stream read"
            self._log.report("read", True, logging.INFO, message, stream=self.stream)


def _refused(subject: str, error: WireApiError) -> RequestError:
    code = error.err_code or error.code
    return RequestError("api_error", f"{subject}: {error.description} ({code})")


def _left(deadline: float) -> float:
    return max(0.05, min(_REQUEST_SECONDS, deadline - time.monotonic()))
