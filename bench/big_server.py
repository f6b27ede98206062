"""One nats-server with many consumers, for every bench that needs one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from bench.population import populate
from streamgauge.demo.nats_server.options import NatsOptions, sample_accounts
from streamgauge.demo.nats_server.server import NatsServer


@dataclass(frozen=True, slots=True)
class Size:
    streams: int
    consumers_each: int = 10
    waiting: float = 1.0  # share of the streams with a backlog and no worker

    @property
    def consumers(self) -> int:
        return self.streams * self.consumers_each

    def __str__(self) -> str:
        return f"{self.consumers:,} consumers on {self.streams:,} streams"


@dataclass(frozen=True, slots=True)
class BigServer:
    server: NatsServer
    size: Size

    def address(self, user: str) -> str:
        return self.server.url.replace("nats://", f"nats://{user}:{user}@")


@contextlib.asynccontextmanager
async def big_server(size: Size) -> AsyncIterator[BigServer]:
    options = NatsOptions(accounts=sample_accounts(), max_memory="16GB")
    async with NatsServer(options=options) as server:
        big = BigServer(server, size)
        started = time.perf_counter()
        await populate(big.address("app"), size.streams, size.consumers_each, size.waiting)
        print(f"{size} on nats-server {server.version}, "
              f"created in {time.perf_counter() - started:.0f} s")  # fmt: skip
        yield big
