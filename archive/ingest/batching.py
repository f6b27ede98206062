"""Plain requests that come at about the same time: decoded as one, and kept as one.

A request of 500 samples costs as much again as its samples do. What is not plain, or is refused in
any part, is looked at by itself: its answer must speak of nothing else.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from archive.batch import Batch
from archive.ingest.negotiation import About
from archive.ingest.response import NOTHING, Answer, durable
from archive.remote_write.decoder import QUICK_SIZE, Decoder, Version
from archive.remote_write.result import Decoded
from archive.remote_write.v1.connection_cursor import Line
from archive.self_metrics import Tally
from archive.wal.group_commit import Done

_KEPT: Final = durable(Version.V1, NOTHING)


class Log(Protocol):
    """The write-ahead log."""

    def append_soon(self, batch: Batch, done: Done) -> None: ...


class Request(NamedTuple):
    about: About
    body: bytes
    line: Line
    size: int
    """Of the body when it is unpacked."""
    answer: asyncio.Future[Answer]


class Others(Protocol):
    """Who takes requests one by one."""

    def receive(self, about: About, body: bytes, line: Line) -> Coroutine[Any, Any, Answer]: ...

    def failed(self, about: About, error: Exception) -> Coroutine[Any, Any, Answer]: ...


class Together:
    """Belongs to one event loop."""

    def __init__(
        self,
        decoder: Decoder,
        log: Log,
        tally: Tally,
        others: Others,
        now: Callable[[], int],
        turn: asyncio.Lock,
    ) -> None:
        """`turn` is held by whoever uses the decoder elsewhere; `now` is in milliseconds."""
        self._decoder = decoder
        self._log = log
        self._tally = tally
        self._others = others
        self._now = now
        self._turn = turn
        self._waiting: deque[Request] = deque()
        self._tasks: set[asyncio.Task[Answer]] = set()

    def join(self, about: About, body: bytes, size: int, line: Line) -> asyncio.Future[Answer]:
        """For requests of 1.0 that are quick. Never raises, and neither does what it returns."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            # Not at once: others that are ready in this turn of the loop come along.
            loop.call_soon(self._take)
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append(Request(about, body, line, size, answer))
        return answer

    def _take(self) -> None:
        requests = self._portion()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._take)
        decoded = self._decoded(requests)
        if decoded is None:
            for each in requests:
                self._leave(each, self._others.receive(each.about, each.body, each.line))
            return
        try:
            self._log.append_soon(decoded.batch, partial(self._finish, requests, decoded))
        except Exception as error:  # noqa: BLE001  whatever it is, the sender must come again
            self._fail(requests, error)

    def _portion(self) -> list[Request]:
        """Of one sender, and no more than can be decoded between two other things."""
        requests = [self._waiting.popleft()]
        sender, size = requests[0].about.sender, requests[0].size
        while self._waiting and self._waiting[0].about.sender == sender:
            if size + self._waiting[0].size > QUICK_SIZE:
                break
            size += self._waiting[0].size
            requests.append(self._waiting.popleft())
        return requests

    def _decoded(self, requests: Sequence[Request]) -> Decoded | None:
        """None when they cannot be taken as one; whoever takes them one by one says why."""
        if self._turn.locked():
            return None
        bodies, lines = [each.body for each in requests], [each.line for each in requests]
        sender = requests[0].about.sender
        try:
            decoded = self._decoder.decode_together(bodies, lines, sender, self._now())
        except Exception:  # noqa: BLE001  it will fail again, alone, and that is told
            return None
        return None if decoded is None or decoded.empty else decoded

    def _finish(
        self, requests: Sequence[Request], decoded: Decoded, failure: Exception | None
    ) -> None:
        if failure is not None:
            self._fail(requests, failure)
            return
        self._tally.received_bytes += sum(len(each.body) for each in requests)
        self._tally.count(requests[0].about.sender, decoded.written, decoded.newest)
        for each in requests:
            _answer(each, _KEPT)

    def _fail(self, requests: Sequence[Request], error: Exception) -> None:
        for each in requests:
            self._tally.received_bytes += len(each.body)
            self._leave(each, self._others.failed(each.about, error))

    def _leave(self, request: Request, work: Coroutine[Any, Any, Answer]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop itself would let it go
        task.add_done_callback(partial(self._left, request))

    def _left(self, request: Request, task: asyncio.Task[Answer]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or task.exception() is not None:  # neither should be
            request.answer.cancel()
        else:
            _answer(request, task.result())


def _answer(request: Request, answer: Answer) -> None:
    if not request.answer.done():  # its connection is gone
        request.answer.set_result(answer)
