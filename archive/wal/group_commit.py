"""Group commit: one group is on its way to the disk, and what arrives meanwhile is the next."""

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
from typing import NamedTuple, Protocol

from archive.batch import Batch
from archive.wal.errors import WalUnavailableError
from archive.wal.kernel_sync import KernelSync
from archive.wal.segment_log import Prepared
from archive.wal.slow_sync import SlowTimer
from streamgauge.serving.logs import StateLog, event

logger = logging.getLogger(__name__)

# A group is built in memory; what waits beyond this many samples is the group after it.
MAX_GROUP_SAMPLES = 200_000
# So long for a sync is slow; the next ones are a thread's, and after a while it is tried again.
SLOW_SECONDS = 0.25
SLOW_AGAIN_SECONDS = 60.0


class Log(Protocol):
    def is_small(self, batches: Sequence[Batch]) -> bool: ...

    def prepare(self, batches: Sequence[Batch]) -> Prepared: ...

    def write(self, prepared: Prepared) -> None: ...

    def begin(self, prepared: Prepared) -> int | None: ...

    def end(self, prepared: Prepared, error: OSError | None) -> None: ...

    def give_up(self) -> None: ...


Done = Callable[[Exception | None], None]
"""Told when a batch is durable, or why it is not."""


class _Pending(NamedTuple):
    batch: Batch
    done: Done
    is_cancelled: Callable[[], bool]


class _Group(NamedTuple):
    pending: list[_Pending]
    prepared: Prepared | None
    """None when that is left to the thread."""

    @property
    def batches(self) -> list[Batch]:
        return [each.batch for each in self.pending]


class _InFlight(NamedTuple):
    """A group that the kernel syncs."""

    pending: list[_Pending]
    prepared: Prepared
    began: float
    timer: SlowTimer


class GroupCommit:
    """Belongs to one event loop. A group that needs no more of the disk is synced by the kernel.

    Others, and all of them while the disk is slow, are for a thread, for they may take long. A
    plain one and not an executor: a hop there and back costs half as much.
    """

    def __init__(self, log: Log, retry: float) -> None:
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
        """Why nothing can be kept at the moment; empty when all is well."""

    async def append(self, batch: Batch) -> None:
        """Returns when it is durable. Cancelled, it may be kept or not, like any lost answer."""
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.append_soon(batch, partial(_resolve, durable), durable.done)
        await durable

    def append_soon(
        self, batch: Batch, done: Done, is_cancelled: Callable[[], bool] = bool
    ) -> None:
        """The same for who does not wait. Who `is_gone` before his turn is not written."""
        if self._closed:  # nobody would ever write it
            raise WalUnavailableError("the write-ahead log is closed")
        if self.unavailable and time.monotonic() < self._retry_at:
            raise WalUnavailableError(self.unavailable)
        self._queue.append(_Pending(batch, done, is_cancelled))
        if self._idle.is_set():
            self._idle.clear()
            # Not at once: others that are ready in this turn of the loop join the group.
            asyncio.get_running_loop().call_soon(self._start_next)

    async def close(self) -> None:
        """After what is on its way."""
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
        except Exception as error:  # whatever it is: nobody may wait for ever
            if not isinstance(error, WalUnavailableError):
                logger.exception("a group of requests could not be written")
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
        except Exception:  # noqa: BLE001  it fails again in the thread, which tells those who wait
            return None

    def _next_group(self) -> list[_Pending]:
        group: list[_Pending] = []
        samples = 0
        while self._queue and samples < MAX_GROUP_SAMPLES:
            pending = self._queue.popleft()
            if pending.is_cancelled():  # cancelled: nobody waits for it, and it will come again
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
        message = "the kernel does not sync by itself here, a thread waits for it"
        event(logger, logging.INFO, message, reason=reason)

    def _synced(self, group: _InFlight, error: OSError | None) -> None:
        group.timer.end()
        if self._slow_until > group.began:  # it was slow with this one; its minute begins now
            self._is_slow()
        elif self._slow_until:
            self._slow_until = 0.0
            self._log.report("speed", "", logging.INFO, "the disk is quick again")
        failure: Exception | None = None
        try:
            self._disk.end(group.prepared, error)
        except Exception as raised:  # noqa: BLE001  it must reach whoever waits
            failure = raised
        self._finished(group.pending, failure)

    def _is_slow(self) -> None:
        """A disk that is slow may come to be so slow that writing waits, which the loop must not."""
        self._slow_until = time.monotonic() + SLOW_AGAIN_SECONDS
        limit = f"more than {SLOW_SECONDS} s"
        self._log.report("speed", "slow", logging.WARNING, "the disk is slow", sync=limit)

    def _close_kernel(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while (group := self._groups.get()) is not None:
            failure = self._attempt(group)
            with contextlib.suppress(RuntimeError):  # a closed loop: nobody waits any more
                loop.call_soon_threadsafe(self._finished, group.pending, failure)

    def _attempt(self, group: _Group) -> Exception | None:
        try:
            self._disk.write(group.prepared or self._disk.prepare(group.batches))
        except WalUnavailableError as error:
            return error
        except Exception as error:  # ours: it must reach whoever waits, and end nothing else
            logger.exception("a group of requests could not be written")
            return error
        return None

    def _finished(self, group: list[_Pending], failure: Exception | None) -> None:
        if isinstance(failure, WalUnavailableError):
            self._failed(failure)
        elif failure is None and self.unavailable:
            self.unavailable = ""
            self._log.report("disk", "", logging.INFO, "samples are kept again")
        for pending in group:
            try:
                pending.done(failure)
            except Exception:  # of one of them: the others must be told all the same
                logger.exception("a request that was written is not answered")
        # After what this has put in motion: senders that are answered first send meanwhile.
        asyncio.get_running_loop().call_soon(self._start_next)

    def _failed(self, error: WalUnavailableError) -> None:
        self.unavailable = str(error)
        self._retry_at = time.monotonic() + self._retry
        self._log.report(
            "disk", self.unavailable, logging.ERROR, "samples cannot be kept", error=error
        )


def _resolve(durable: asyncio.Future[None], failure: Exception | None) -> None:
    if durable.done():  # cancelled while it was being written
        return
    if failure is None:
        durable.set_result(None)
    else:
        durable.set_exception(failure)
