"""A sync that no thread waits for: the kernel does it, and tells the event loop when it is done.

A thread that comes back from the disk takes the interpreter from whoever decodes, for every group
of requests; that was the larger part of what a small request cost.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

try:
    from caio import linux_aio
except ImportError:  # another system, or none that it was built for: a thread waits there
    linux_aio = None  # type: ignore[assignment]

Done = Callable[[OSError | None], None]


class KernelSync:
    """One sync at a time, for one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Raises OSError where there is none to be had."""
        if linux_aio is None:
            raise OSError("no caio")
        self._context = linux_aio.Context(max_requests=1)
        self._loop = loop
        loop.add_reader(self._context.fileno, self._look)

    def start(self, descriptor: int, done: Done) -> None:
        """Syncs the data of a file. `done` must not raise. Raises OSError when it does not begin."""

        def finished(result: int) -> None:
            done(OSError(-result, os.strerror(-result)) if result < 0 else None)

        operation = linux_aio.Operation.fdsync(descriptor)
        operation.set_callback(finished)
        if self._context.submit(operation) != 1:
            raise OSError("the kernel took no sync")

    def close(self) -> None:
        self._loop.remove_reader(self._context.fileno)

    def _look(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it was counted by an earlier look
            self._context.poll()
        self._context.process_events()
