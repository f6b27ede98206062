"""Servers that stand still for a while, or get too little of the processor: signals, nothing else."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from support.nats.servers import NatsServer

# Peers call an election after four silent seconds: a pause stays far below that.
SHORTEST_PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 1.0
RUN_SECONDS: Final = 0.003
# On a busy machine a run lasts longer than it was meant to; the pause after it then does as well.
PAUSE_PER_RUN: Final = 80


@contextmanager
def frozen(server: NatsServer) -> Iterator[None]:
    """It does nothing, and its connections stay open."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


@asynccontextmanager
async def starved(server: NatsServer) -> AsyncIterator[None]:
    """It runs for a moment at a time, as under a far too small quota of the processor."""
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
