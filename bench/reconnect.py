"""Reconnect after a server restart, compared with nats-py in one run."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Final

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError

from bench.table import seconds, show
from exporter.errors import RequestError
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.credentials import NatsAccess
from streamgauge.demo.nats_server.options import NatsOptions, sample_accounts
from streamgauge.demo.nats_server.server import NatsServer

SUBJECT: Final = "$JS.API.INFO"
TIMEOUT_SECONDS: Final = 10.0
AWAY_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 0.02
Request = Callable[[], Awaitable[object]]


async def _until_failed(request: Request) -> tuple[float, str]:
    """How long a request to a server that is down takes to fail, and its error."""
    started = time.perf_counter()
    try:
        await request()
    except RequestError as error:
        return time.perf_counter() - started, error.reason
    except (NatsError, OSError, TimeoutError) as error:
        return time.perf_counter() - started, type(error).__name__
    raise RuntimeError("a server that is down responded")


async def _until_works(request: Request) -> float:
    started = time.perf_counter()
    while True:
        with contextlib.suppress(RequestError, NatsError, OSError, TimeoutError):
            await request()
            return time.perf_counter() - started
        await asyncio.sleep(RETRY_SECONDS)


async def _round(server: NatsServer, request: Request) -> tuple[float, str, float]:
    await request()
    await server.kill()
    await asyncio.sleep(AWAY_SECONDS)
    failed, reason = await _until_failed(request)
    await server.start()
    return failed, reason, await _until_works(request)


async def _library(url: str) -> Client:
    async def quiet(_: Exception) -> None:
        """The library prints its errors otherwise."""

    return await nats.connect(url, max_reconnect_attempts=-1, error_cb=quiet)


async def compare(rounds: int) -> None:
    ways = ("ours", "nats-py")
    found: dict[str, list[tuple[float, str, float]]] = {name: [] for name in ways}
    async with NatsServer(options=NatsOptions(accounts=sample_accounts())) as server:
        url = server.url.replace("nats://", "nats://app:app@")
        link = NatsConnection(NatsAccess((url,)), "bench")
        client = await _library(url)

        async def ours() -> None:
            await link.open()
            await link.request(SUBJECT, timeout=TIMEOUT_SECONDS)

        async def library() -> None:
            await client.request(SUBJECT, timeout=TIMEOUT_SECONDS)

        for _ in range(rounds):
            for name, request in zip(ways, (ours, library), strict=True):
                found[name].append(await _round(server, request))
        await link.close()
        await client.close()
    rows = [
        (
            name,
            seconds(statistics.median(each[0] for each in got)),
            ", ".join(sorted({each[1] for each in got})),
            seconds(statistics.median(each[2] for each in got)),
            seconds(max(each[2] for each in got)),
        )
        for name, got in found.items()
    ]
    show(
        f"A server killed and started again, {rounds} rounds each, alternating",
        ("", "fails after", "reason", "works after", "at most"),
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench reconnect", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    asyncio.run(compare(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
