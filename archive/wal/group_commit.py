"""Group commit: while one group is written, arriving batches form the next group."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from typing import NamedTuple

from archive.batch import Batch
from archive.wal.errors import WalUnavailableError
from archive.wal.kernel_sync import KernelSync, SlowTimer
from archive.wal.segments.log import Prepared, SegmentLog
from streamgauge.serving.logs import StateLog, event

logger = logging.getLogger(__name__)

# A group is built in memory; batches beyond this many samples wait for the next group.
MAX_GROUP_SAMPLES = 200_000
# A sync that takes longer is slow: a thread syncs the next groups, for SLOW_AGAIN_SECONDS.
SLOW_SECONDS = 0.25
SLOW_AGAIN_SECONDS = 60.0


Done = Callable[[Exception | None], None]
"""Called when a batch is durable, or with the reason why it is not."""


class _Pending(NamedTuple):
    batch: Batch
    done: Done
    is_cancelled: Callable[[], bool]


class _Group(NamedTuple):
    pending: list[_Pending]
    prepared: Prepared | None
    """None when the thread prepares it."""

    @property
    def batches(self) -> list[Batch]:
        return [each.batch for each in self.pending]


class _InFlight(NamedTuple):
    """A group that the kernel is syncing."""

    pending: list[_Pending]
    prepared: Prepared
    began: float
    timer: SlowTimer


class GroupCommit:
    """Belongs to one event loop. The kernel syncs a group that fits the allocated space.

    A thread writes the other groups, and all groups while the disk is slow, because that may
    block. It is a plain thread, because an executor costs twice as much for each group.
    """

    def __init__(self, log: SegmentLog, retry: float) -> None:
        self._disk = log
        self._retry = retry
        self._queue: deque[_Pending] = deque()
        self._groups: SimpleQueue[_Group | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._kernel: KernelSync | None = None
        self._slow_until = 0.0
        self._idle = asyncio.Event()
        self._idle.set()
        self._log = StateLog(logger)
        self._retry_at = 0.0
        self._closed = False
        self.unavailable = ""
        """Why the log cannot store anything now; empty when it can."""

    async def append(self, batch: Batch) -> None:
        """Returns when the batch is durable. A cancelled batch may be stored or not."""
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.append_soon(batch, partial(_resolve, durable), durable.done)
        await durable

    def append_soon(
        self, batch: Batch, done: Done, is_cancelled: Callable[[], bool] = bool
    ) -> None:
        """Calls `done` instead of waiting. Skips a batch that `is_cancelled` before its group starts."""
        if self._closed:  # it would never be written
            raise WalUnavailableError("the write-ahead log is closed")
        if self.unavailable and time.monotonic() < self._retry_at:
            raise WalUnavailableError(self.unavailable)
        self._queue.append(_Pending(batch, done, is_cancelled))
        if self._idle.is_set():
            self._idle.clear()
            # Batches that are ready in this loop iteration join the group.
            asyncio.get_running_loop().call_soon(self._start_next)

    async def close(self) -> None:
        """Waits for the groups in flight."""
        self._closed = True
        await self._idle.wait()
        if self._thread is not None:
            self._groups.put(None)
            await asyncio.to_thread(self._thread.join)
        self._close_kernel()

    def _start_next(self) -> None:
        pending = self._next_group()
        if not pending:
            self._idle.set()
            return
        if self._thread is None:
            self._begin()
        prepared = self._prepared_now(pending)
        try:
            started = prepared is not None and self._start_kernel_sync(pending, prepared)
        except Exception as error:  # any error: no caller may wait forever
            if not isinstance(error, WalUnavailableError):
                logger.exception("cannot write a group of requests")
            asyncio.get_running_loop().call_soon(self._finished, pending, error)
        else:
            if not started:
                self._groups.put(_Group(pending, prepared))

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(None, self._run, "wal", (loop,), daemon=True)
        self._thread.start()
        try:
            self._kernel = KernelSync(loop)
        except OSError as error:
            self._log_thread_fallback(error)

    def _prepared_now(self, pending: Sequence[_Pending]) -> Prepared | None:
        batches = [each.batch for each in pending]
        try:
            return self._disk.prepare(batches) if self._disk.is_small(batches) else None
        except Exception:  # noqa: BLE001  it fails again in the thread, which reports it
            return None

    def _next_group(self) -> list[_Pending]:
        group: list[_Pending] = []
        samples = 0
        while self._queue and samples < MAX_GROUP_SAMPLES:
            pending = self._queue.popleft()
            if pending.is_cancelled():  # the sender will retry it
                continue
            group.append(pending)
            samples += len(pending.batch.series)
        return group

    def _start_kernel_sync(self, pending: list[_Pending], prepared: Prepared) -> bool:
        began = time.monotonic()
        if self._kernel is None or began < self._slow_until:
            return False
        descriptor = self._disk.begin(prepared)
        if descriptor is None:
            return False
        timer = SlowTimer(SLOW_SECONDS, self._is_slow)
        if time.monotonic() - began >= SLOW_SECONDS:
            self._is_slow()
        in_flight = _InFlight(pending, prepared, began, timer)
        try:
            self._kernel.start(descriptor, partial(self._synced, in_flight))
        except OSError as error:
            timer.end()
            self._disk.give_up()
            self._close_kernel()
            self._log_thread_fallback(error)
            return False
        return True

    def _log_thread_fallback(self, reason: OSError) -> None:
        message = "no kernel sync on this system, a thread syncs instead"
        event(logger, logging.INFO, message, reason=reason)

    def _synced(self, group: _InFlight, error: OSError | None) -> None:
        group.timer.end()
        if self._slow_until > group.began:  # this sync was slow: restart the period
            self._is_slow()
        elif self._slow_until:
            self._slow_until = 0.0
            self._log.report("speed", "", logging.INFO, "disk is no longer slow")
        failure: Exception | None = None
        try:
            self._disk.end(group.prepared, error)
        except Exception as raised:  # noqa: BLE001  reported to the callers
            failure = raised
        self._finished(group.pending, failure)

    def _is_slow(self) -> None:
        """On a slow disk even a write may block, which the event loop must not do."""
        self._slow_until = time.monotonic() + SLOW_AGAIN_SECONDS
        limit = f"more than {SLOW_SECONDS} s"
        self._log.report("speed", "slow", logging.WARNING, "disk is slow", sync=limit)

    def _close_kernel(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while (group := self._groups.get()) is not None:
            failure = self._attempt(group)
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._finished, group.pending, failure)

    def _attempt(self, group: _Group) -> Exception | None:
        try:
            self._disk.write(group.prepared or self._disk.prepare(group.batches))
        except WalUnavailableError as error:
            return error
        except Exception as error:  # an internal error: report it to the callers and go on
            logger.exception("cannot write a group of requests")
            return error
        return None

    def _finished(self, group: list[_Pending], failure: Exception | None) -> None:
        if isinstance(failure, WalUnavailableError):
            self._failed(failure)
        elif failure is None and self.unavailable:
            self.unavailable = ""
            self._log.report("disk", "", logging.INFO, "write-ahead log is available again")
        for pending in group:
            try:
                pending.done(failure)
            except Exception:  # of one caller: the others must be called too
                logger.exception("cannot report a written request to its caller")
        # Later in the loop: senders that get their response now may join the next group.
        asyncio.get_running_loop().call_soon(self._start_next)

    def _failed(self, error: WalUnavailableError) -> None:
        self.unavailable = str(error)
        self._retry_at = time.monotonic() + self._retry
        self._log.report(
            "disk",
            self.unavailable,
            logging.ERROR,
            "write-ahead log is unavailable, requests get 503",
            error=error,
        )


def _resolve(durable: asyncio.Future[None], failure: Exception | None) -> None:
    if durable.done():  # cancelled while it was written
        return
    if failure is None:
        durable.set_result(None)
    else:
        durable.set_exception(failure)
