"""Receives remote-write requests: 204 only when every sample is durable.

400 means that a retry cannot succeed. Every fault of the archive is 503, so that the sender retries.
"""

from __future__ import annotations

import asyncio
import logging

from archive.ingest.batching import Log, RequestBatcher
from archive.ingest.clock import Clock
from archive.ingest.protocol import NOTHING, RequestInfo, WriteResponse, durable, later, refused
from archive.ingest.quarantine import Quarantine
from archive.remote_write.decoder import INLINE_SIZE, Decoder, Version
from archive.remote_write.protobuf import MalformedError
from archive.remote_write.result import Decoded, Written
from archive.remote_write.v1.connection_cursor import ConnectionCursor
from archive.self_metrics import Deferred, ReceiverCounters, Refused
from archive.settings.limits import Limits
from archive.wal.errors import WalUnavailableError
from streamgauge.serving.rate_limit import RateLimitedLog

logger = logging.getLogger(__name__)


class Receiver:
    def __init__(
        self,
        decoder: Decoder,
        log: Log,
        limits: Limits,
        quarantine: Quarantine,
        counters: ReceiverCounters,
        clock: Clock | None = None,
    ) -> None:
        self.decoder_lock = asyncio.Lock()
        """Hold it while you use the decoder."""
        self.stopping = False
        self._decoder = decoder
        self._log = log
        self._limits = limits
        self._quarantine = quarantine
        self._counters = counters
        self._waiting = 0
        self._log_limited = RateLimitedLog(logger)
        self._now = (clock or Clock()).now
        self._batcher = RequestBatcher(decoder, log, counters, self, self._now, self.decoder_lock)

    def hold(self, size: int) -> bool:
        """Reserves memory for a body until `release`; False when the limit is reached."""
        if self.stopping or size > self._limits.body:
            return False
        if self._waiting + size > self._limits.waiting:
            return False
        self._waiting += size
        return True

    def release(self, size: int) -> None:
        self._waiting -= size

    def receive_soon(
        self, info: RequestInfo, body: bytes, cursor: ConnectionCursor
    ) -> asyncio.Future[WriteResponse]:
        """A future of the response. Plain requests of a connection are batched with others."""
        if cursor.plain and info.version is Version.V1:
            size = self._decoder.size_of(body)
            if size is not None and size <= INLINE_SIZE:
                return self._batcher.join(info, body, size, cursor)
        return asyncio.get_running_loop().create_task(self.receive(info, body, cursor))

    async def receive(
        self, info: RequestInfo, body: bytes, cursor: ConnectionCursor | None = None
    ) -> WriteResponse:
        """Never raises: an internal error becomes 503, and the sender retries."""
        try:
            return await self._receive(info, body, cursor)
        except Exception as error:  # noqa: BLE001  any error is an internal one here
            return await self.failed(info, error)

    async def _receive(
        self, info: RequestInfo, body: bytes, cursor: ConnectionCursor | None
    ) -> WriteResponse:
        now = self._now()
        self._counters.received_bytes += len(body)
        try:
            decoded = await self._decode(info, body, now, cursor)
        except MalformedError as error:
            self._quarantine_request(info, body, now, str(error), (Refused.MALFORMED,))
            return self.refuse(info, Refused.MALFORMED, str(error))
        if not decoded.empty:
            await self._log.append((), decoded.batch)
            self._counters.count(info.sender, decoded.written, decoded.newest)
        if not decoded.refusals:
            return durable(info.version, decoded.written)
        refusals = decoded.refusals
        self._counters.refused_samples.update(refusals.counts)
        rules = tuple(refusals.counts)
        self._quarantine_request(info, body, now, str(refusals), rules)
        return self.refuse(info, Refused.PARTS, str(refusals), decoded.written, rules)

    async def _decode(
        self, info: RequestInfo, body: bytes, now: int, cursor: ConnectionCursor | None
    ) -> Decoded:
        request = (info.version, body, info.sender, now, cursor)
        async with self.decoder_lock:
            if (self._decoder.size_of(body) or 0) <= INLINE_SIZE:
                return self._decoder.decode(*request)
            # A thread, so that other connections do not wait for a large request.
            return await asyncio.to_thread(self._decoder.decode, *request)

    def _quarantine_request(
        self, info: RequestInfo, body: bytes, now: int, reason: str, rules: tuple[str, ...]
    ) -> None:
        facts = {
            "sender": info.sender,
            "version": info.version.value,
            "reason": reason,
            "bytes": len(body),
            "user_agent": info.user_agent,
        }
        self._quarantine.put(info.sender, rules, body, now, facts)

    def refuse(
        self,
        info: RequestInfo,
        kind: Refused,
        reason: str,
        written: Written = NOTHING,
        rules: tuple[str, ...] = (),
    ) -> WriteResponse:
        """Logs once a minute for each sender and set of broken rules."""
        self._counters.refused[kind] += 1
        sender = info.sender
        news = (sender, kind, rules)
        self._log_limited.log(
            news, logging.WARNING, "request refused", sender=sender, reason=reason
        )
        return refused(info.version, reason, written)

    def busy(self, info: RequestInfo, kind: Deferred, reason: str) -> WriteResponse:
        self._log_limited.log(
            reason, logging.WARNING, "request deferred", reason=reason, bytes=self._waiting
        )
        return self.defer(info, kind, reason)

    def defer(self, info: RequestInfo, kind: Deferred, reason: str) -> WriteResponse:
        self._counters.deferred[kind] += 1
        return later(info.version, reason)

    async def failed(self, info: RequestInfo, error: Exception) -> WriteResponse:
        """The response to a request that could not be stored."""
        # Metadata of this request may not be durable: accept it again.
        async with self.decoder_lock:
            self._decoder.forget_metadata()
        if isinstance(error, WalUnavailableError):
            return self.defer(info, Deferred.DISK, str(error))  # the write-ahead log has logged it
        kind, sender = (info.sender, type(error)), info.sender
        self._log_limited.log(kind, logging.ERROR, "request failed", sender=sender, error=error)
        return self.defer(info, Deferred.FAULT, "internal error, see the log of the archive")
