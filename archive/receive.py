"""One remote-write request from its headers to its answer: 204 only when every byte is durable.

400 is for what can never succeed; whatever is our own trouble is 503, so that it comes again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, Protocol

from aiohttp import web

from archive.batch import Batch, SeriesDefinition
from archive.decode_request import Decoder, Version
from archive.decode_result import Decoded, Written
from archive.limits import Limits
from archive.quarantine import Quarantine
from archive.receive_log import MinuteLog
from archive.receive_negotiation import UnsupportedError, version_of
from archive.self_metrics import Tally
from archive.wal_errors import WalUnavailableError
from archive.wire import MalformedError

logger = logging.getLogger(__name__)

SENDER: Final = "sender"
"""Where the door leaves the name of whoever it let in."""
# A sender that fell silent must not keep its share of what may be under way.
BODY_SECONDS: Final = 30.0
_AGAIN: Final = {"Retry-After": "5"}
_WRITTEN: Final = "X-Prometheus-Remote-Write-{}-Written"


class Log(Protocol):
    """The write-ahead log."""

    async def append(self, definitions: Iterable[SeriesDefinition], batch: Batch) -> None: ...


class Receiver:
    def __init__(
        self, decoder: Decoder, log: Log, limits: Limits, quarantine: Quarantine, tally: Tally
    ) -> None:
        self.turn = asyncio.Lock()
        """Whoever uses the decoder holds it."""
        self.stopping = False
        self._decoder = decoder
        self._log = log
        self._limits = limits
        self._quarantine = quarantine
        self._tally = tally
        self._waiting = 0
        self._say = MinuteLog(logger)

    async def write(self, request: web.Request) -> web.Response:
        """The handler of POST /api/v1/write."""
        try:
            version = version_of(
                request.headers.get("Content-Type", ""), request.headers.get("Content-Encoding", "")
            )
        except UnsupportedError as error:
            return _answer(415, str(error))
        sender = request.get(SENDER) or request.remote or "unknown"
        most = self._limits.body
        size = most if request.content_length is None else request.content_length
        if size > most:
            return self._refused(version, sender, "size", f"the body is larger than {most} bytes")
        if self.stopping:
            return _later(version, "stopping")
        if self._waiting + size > self._limits.waiting:
            return self._busy(version, "too many requests are under way")
        self._waiting += size
        try:
            return await self._receive(request, version, sender)
        except web.HTTPRequestEntityTooLarge:
            return self._refused(version, sender, "size", f"the body is larger than {most} bytes")
        except TimeoutError:
            return self._busy(version, "the body did not arrive in time")
        except Exception as error:  # noqa: BLE001  our own fault must not cost the sender a sample
            return await self._failed(version, sender, error)
        finally:
            self._waiting -= size

    async def _receive(self, request: web.Request, version: Version, sender: str) -> web.Response:
        if request.content.is_eof():  # it came with its headers: nothing to wait for
            body = await request.read()
        else:
            async with asyncio.timeout(BODY_SECONDS):
                body = await request.read()
        now = time.time_ns() // 1_000_000
        self._tally.received_bytes += len(body)
        try:
            decoded = await self._decode(version, body, sender, now)
        except MalformedError as error:
            await self._put_aside(body, now, version, sender, str(error), request.headers)
            return self._refused(version, sender, "malformed", str(error))
        if not decoded.empty:
            await self._log.append((), decoded.batch)
            self._count(sender, decoded)
        if decoded.refusals:
            reason = str(decoded.refusals)
            await self._put_aside(body, now, version, sender, reason, request.headers)
            kinds = tuple(decoded.refusals.counts)
            return self._refused(version, sender, kinds, reason, decoded.written)
        return _answer(204, "", _headers(version, decoded.written))

    async def _decode(self, version: Version, body: bytes, sender: str, now: int) -> Decoded:
        async with self.turn:
            if self._decoder.is_quick(body):
                return self._decoder.decode(version, body, sender, now)
            # A large one takes its time, which other connections need not wait for.
            return await asyncio.to_thread(self._decoder.decode, version, body, sender, now)

    def _count(self, sender: str, decoded: Decoded) -> None:
        self._tally.samples += decoded.written.samples
        if decoded.written.samples:
            self._tally.saw(sender, int(decoded.batch.times.max()))

    async def _put_aside(
        self,
        body: bytes,
        now: int,
        version: Version,
        sender: str,
        reason: str,
        headers: Mapping[str, str],
    ) -> None:
        facts = {
            "sender": sender,
            "version": version.value,
            "reason": reason,
            "bytes": len(body),
            "user_agent": headers.get("User-Agent", ""),
        }
        await asyncio.to_thread(self._quarantine.put, body, now, facts)

    def _refused(
        self,
        version: Version,
        sender: str,
        kind: Hashable,
        reason: str,
        written: Written | None = None,
    ) -> web.Response:
        self._say.say((sender, kind), logging.WARNING, "refused", sender=sender, reason=reason)
        return _answer(400, reason, _headers(version, written or Written()))

    def _busy(self, version: Version, reason: str) -> web.Response:
        self._say.say(reason, logging.WARNING, "put off", reason=reason, bytes=self._waiting)
        return _later(version, reason)

    async def _failed(self, version: Version, sender: str, error: Exception) -> web.Response:
        # What was taken for stored may not be: metadata must be let through again.
        async with self.turn:
            self._decoder.forget_metadata()
        if isinstance(error, WalUnavailableError):
            return _later(version, str(error))  # the log has said so in ours
        kind = (sender, type(error))
        self._say.say(kind, logging.ERROR, "a request failed", sender=sender, error=error)
        return _later(version, "internal error, see the log of the archive")


def _later(version: Version, reason: str) -> web.Response:
    return _answer(503, reason, _headers(version, Written()) | _AGAIN)


def _headers(version: Version, written: Written) -> dict[str, str]:
    """Of 2.0, whose senders take an answer without them for one of 1.0; 1.0 knows none."""
    if version is Version.V1:
        return {}
    return {
        _WRITTEN.format("Samples"): str(written.samples),
        _WRITTEN.format("Histograms"): str(written.histograms),
        _WRITTEN.format("Exemplars"): str(written.exemplars),
    }


def _answer(code: int, reason: str, headers: Mapping[str, str] | None = None) -> web.Response:
    text = f"{reason}\n" if reason else None
    return web.Response(status=code, text=text, headers=headers)
