"""Freezes a server, or limits its CPU time, with signals."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from support.nats.servers import NatsServer

# Peers start an election after four seconds without heartbeats.
SHORTEST_PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 1.0
RUN_SECONDS: Final = 0.003
# On a busy machine a run takes longer; the pause after it grows with it.
PAUSE_PER_RUN: Final = 80


@contextmanager
def frozen(server: NatsServer) -> Iterator[None]:
    """Stops the process; its connections stay open."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


@asynccontextmanager
async def starved(server: NatsServer) -> AsyncIterator[None]:
    """Lets the process run for a few milliseconds at a time, like a very small CPU quota."""
    over = asyncio.Event()
    starving = asyncio.create_task(_starve(server, over))
    try:
        yield
    finally:
        over.set()
        await starving


async def _starve(server: NatsServer, over: asyncio.Event) -> None:
    while not over.is_set():
        started = time.monotonic()
        await asyncio.sleep(RUN_SECONDS)
        ran = time.monotonic() - started
        with frozen(server):
            pause = max(SHORTEST_PAUSE_SECONDS, ran * PAUSE_PER_RUN)
            await asyncio.sleep(min(pause, LONGEST_PAUSE_SECONDS))
