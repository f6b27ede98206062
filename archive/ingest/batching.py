"""Batches plain requests that arrive together: one decoding and one log append for all of them.

At 500 samples a request, the fixed cost of a request is as large as that of its samples. A request
that is not plain, or that is refused in part, is received alone, so that its response covers only it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from archive.batch import Batch, SeriesDefinition
from archive.ingest.protocol import NOTHING, RequestInfo, WriteResponse, durable
from archive.remote_write.decoder import INLINE_SIZE, Decoder, Version
from archive.remote_write.result import Decoded
from archive.remote_write.v1.connection_cursor import ConnectionCursor
from archive.self_metrics import ReceiverCounters
from archive.wal.group_commit import Done

_DURABLE: Final = durable(Version.V1, NOTHING)


class Log(Protocol):
    """The write-ahead log."""

    async def append(self, definitions: Iterable[SeriesDefinition], batch: Batch) -> None: ...

    def append_soon(self, batch: Batch, done: Done) -> None: ...


class Request(NamedTuple):
    info: RequestInfo
    body: bytes
    cursor: ConnectionCursor
    size: int
    """Bytes of the decompressed body."""
    response: asyncio.Future[WriteResponse]


class SingleReceiver(Protocol):
    """Receives requests one by one."""

    def receive(
        self, info: RequestInfo, body: bytes, cursor: ConnectionCursor
    ) -> Coroutine[Any, Any, WriteResponse]: ...

    def failed(self, info: RequestInfo, error: Exception) -> Coroutine[Any, Any, WriteResponse]: ...


class RequestBatcher:
    """Belongs to one event loop."""

    def __init__(
        self,
        decoder: Decoder,
        log: Log,
        counters: ReceiverCounters,
        singles: SingleReceiver,
        now: Callable[[], int],
        decoder_lock: asyncio.Lock,
    ) -> None:
        """`decoder_lock` guards other uses of the decoder; `now` is in milliseconds."""
        self._decoder = decoder
        self._log = log
        self._counters = counters
        self._singles = singles
        self._now = now
        self._decoder_lock = decoder_lock
        self._waiting: deque[Request] = deque()
        self._tasks: set[asyncio.Task[WriteResponse]] = set()

    def join(
        self, info: RequestInfo, body: bytes, size: int, cursor: ConnectionCursor
    ) -> asyncio.Future[WriteResponse]:
        """For small 1.0 requests. Never raises, and neither does the future."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            # Requests that are ready in this loop iteration join the batch.
            loop.call_soon(self._process)
        response: asyncio.Future[WriteResponse] = loop.create_future()
        self._waiting.append(Request(info, body, cursor, size, response))
        return response

    def _process(self) -> None:
        requests = self._next_batch()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._process)
        decoded = self._decode(requests)
        if decoded is None:
            for each in requests:
                self._start_single(each, self._singles.receive(each.info, each.body, each.cursor))
            return
        try:
            self._log.append_soon(decoded.batch, partial(self._finish, requests, decoded))
        except Exception as error:  # noqa: BLE001  any error: the sender must retry
            self._fail(requests, error)

    def _next_batch(self) -> list[Request]:
        """Requests of one sender, at most INLINE_SIZE bytes together."""
        requests = [self._waiting.popleft()]
        sender, size = requests[0].info.sender, requests[0].size
        while self._waiting and self._waiting[0].info.sender == sender:
            if size + self._waiting[0].size > INLINE_SIZE:
                break
            size += self._waiting[0].size
            requests.append(self._waiting.popleft())
        return requests

    def _decode(self, requests: Sequence[Request]) -> Decoded | None:
        """None when they cannot be decoded as one; receiving them one by one reports why."""
        if self._decoder_lock.locked():
            return None
        bodies, cursors = [each.body for each in requests], [each.cursor for each in requests]
        sender = requests[0].info.sender
        try:
            decoded = self._decoder.decode_batch(bodies, cursors, sender, self._now())
        except Exception:  # noqa: BLE001  it fails again when received alone, with a response
            return None
        return None if decoded is None or decoded.empty else decoded

    def _finish(
        self, requests: Sequence[Request], decoded: Decoded, failure: Exception | None
    ) -> None:
        if failure is not None:
            self._fail(requests, failure)
            return
        self._counters.received_bytes += sum(len(each.body) for each in requests)
        self._counters.count(requests[0].info.sender, decoded.written, decoded.newest)
        for each in requests:
            _respond(each, _DURABLE)

    def _fail(self, requests: Sequence[Request], error: Exception) -> None:
        for each in requests:
            self._counters.received_bytes += len(each.body)
            self._start_single(each, self._singles.failed(each.info, error))

    def _start_single(self, request: Request, work: Coroutine[Any, Any, WriteResponse]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop keeps only a weak reference
        task.add_done_callback(partial(self._single_done, request))

    def _single_done(self, request: Request, task: asyncio.Task[WriteResponse]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or task.exception() is not None:  # neither is expected
            request.response.cancel()
        else:
            _respond(request, task.result())


def _respond(request: Request, response: WriteResponse) -> None:
    if not request.response.done():  # done: the connection was closed
        request.response.set_result(response)
