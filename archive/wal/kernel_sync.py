"""A sync that no thread waits for: the kernel does it, and tells the event loop when it is done.

A thread that comes back from the disk takes the interpreter from whoever decodes, for every group
of requests; that was the larger part of what a small request cost.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Final

try:
    from caio import linux_aio
except ImportError:  # another system, or none that it was built for: a thread waits there
    linux_aio = None  # type: ignore[assignment]

Done = Callable[[OSError | None], None]

_SIGN: Final = 1 << 63


class KernelSync:
    """One sync at a time, for one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Raises OSError where there is none to be had."""
        if linux_aio is None:
            raise OSError("no caio")
        with _as_os_errors():
            self._context = linux_aio.Context(max_requests=1)
        self._loop = loop
        loop.add_reader(self._context.fileno, self._poll)

    def start(self, descriptor: int, done: Done) -> None:
        """Syncs the data of a file. `done` must not raise. Raises OSError when it does not begin."""

        def finished(result: int) -> None:
            done(_error(result))

        with _as_os_errors():
            operation = linux_aio.Operation.fdsync(descriptor)
            operation.set_callback(finished)
            taken = self._context.submit(operation)
        if taken != 1:
            raise OSError("the kernel took no sync")

    def close(self) -> None:
        self._loop.remove_reader(self._context.fileno)

    def _poll(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it was counted by an earlier look
            self._context.poll()
        self._context.process_events()


def _error(result: int) -> OSError | None:
    """What the kernel says of a sync: 0, or the negative number of an error, told without its sign."""
    number = result - 2 * _SIGN if result >= _SIGN else result
    return OSError(-number, os.strerror(-number)) if number else None


@contextlib.contextmanager
def _as_os_errors() -> Iterator[None]:
    """The library has errors of many kinds for what the kernel refuses, and none of them is one."""
    try:
        yield
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}") from error
