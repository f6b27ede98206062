"""Asynchronous fdatasync by Linux AIO, without a waiting thread.

A thread that returns from a sync takes the GIL from the decoder, for every group of requests. That
was most of the cost of a small request.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Final

try:
    from caio import linux_aio
except ImportError:  # not available on this system: a thread syncs instead
    linux_aio = None  # type: ignore[assignment]

Done = Callable[[OSError | None], None]

_SIGN: Final = 1 << 63
# Time for the loop to process the events that were pending at the timeout.
_GRACE: Final = 0.001


class KernelSync:
    """One sync at a time, for one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Raises OSError where the system has none."""
        if linux_aio is None:
            raise OSError("no caio")
        with _as_os_errors():
            self._context = linux_aio.Context(max_requests=1)
        self._loop = loop
        loop.add_reader(self._context.fileno, self._poll)

    def start(self, descriptor: int, done: Done) -> None:
        """Syncs the data of a file. `done` must not raise. Raises OSError when it cannot start."""

        def finished(result: int) -> None:
            done(_error(result))

        with _as_os_errors():
            operation = linux_aio.Operation.fdsync(descriptor)
            operation.set_callback(finished)
            taken = self._context.submit(operation)
        if taken != 1:
            raise OSError("the kernel did not accept the sync")

    def close(self) -> None:
        self._loop.remove_reader(self._context.fileno)

    def _poll(self) -> None:
        with contextlib.suppress(BlockingIOError):  # an earlier poll consumed the event
            self._context.poll()
        self._context.process_events()


class SlowTimer:
    """For slow syncs; a busy event loop does not trigger it."""

    def __init__(self, seconds: float, late: Callable[[], None]) -> None:
        """Calls `late` unless `end` is called before."""
        self._loop = asyncio.get_running_loop()
        self._late = late
        self._timer = self._loop.call_later(seconds, self._recheck)

    def end(self) -> None:
        self._timer.cancel()

    def _recheck(self) -> None:
        """The loop itself may be late: process pending events before the sync counts as slow."""
        self._timer = self._loop.call_later(_GRACE, self._late)


def _error(result: int) -> OSError | None:
    """The result of a sync: 0 or a negative error number, which caio returns as unsigned."""
    number = result - 2 * _SIGN if result >= _SIGN else result
    return OSError(-number, os.strerror(-number)) if number else None


@contextlib.contextmanager
def _as_os_errors() -> Iterator[None]:
    """Converts the many exception types of the library to OSError."""
    try:
        yield
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}") from error
