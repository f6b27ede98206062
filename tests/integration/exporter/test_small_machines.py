"""The exporter on a full disk and within a small memory limit."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from nats.js.api import ConsumerConfig
from support.exporter.process import add_orders, exporting
from support.nats.servers import (
    APP,
    SYS,
    Login,
    NatsOptions,
    NatsServer,
    connected,
    default_options,
)
from support.waiting import until

V2: Final = Path("/sys/fs/cgroup")
V1: Final = V2 / "memory"
MEGABYTE: Final = 1024**2
LIMIT: Final = 256 * MEGABYTE


async def test_a_full_disk_under_the_log_costs_lines_and_nothing_else(tmp_path: Path) -> None:
    to_full_disk = ("sh", "-c", 'exec "$@" >/dev/full 2>&1', "sh")
    environ = {"STREAMGAUGE_INTERVAL": "1s", "STREAMGAUGE_LOG_LEVEL": "debug"}
    async with NatsServer(options=NatsOptions()) as server:
        async with connected(server) as client:
            await add_orders(client)
        flags = ("--nats", server.url)
        async with exporting(tmp_path, *flags, environ=environ, before=to_full_disk) as exporter:
            await exporter.ready()
            series = await exporter.scrape()
            exporter.signal(signal.SIGTERM)
            assert await exporter.child.ended() == 0
    assert series.named("consumer_num_pending", stream="ORDERS") == [5, 5, 5]
    assert (series.value("log_lines_dropped_total") or 0) >= 2


@dataclass(frozen=True)
class MemoryGroup:
    """A memory cgroup of its own."""

    folder: Path
    peak: str

    def used(self) -> int:
        return int((self.folder / self.peak).read_text())


def make_group() -> MemoryGroup:
    name = f"streamgauge-test-{os.getpid()}"
    if (V2 / "cgroup.controllers").exists():
        (V2 / "cgroup.subtree_control").write_text("+memory")
        made, limit = MemoryGroup(V2 / name, "memory.peak"), "memory.max"
    else:
        made, limit = MemoryGroup(V1 / name, "memory.max_usage_in_bytes"), "memory.limit_in_bytes"
    made.folder.mkdir()
    (made.folder / limit).write_text(str(LIMIT))
    return made


@pytest.fixture
def group() -> Iterator[MemoryGroup]:
    try:
        made = make_group()
    except OSError as error:
        pytest.skip(f"no memory cgroup can be made: {error}")
    yield made
    made.folder.rmdir()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("source", "login"), [("account", APP), ("system", SYS)])
async def test_ten_thousand_consumers_fit_in_256_megabytes(
    source: str, login: Login, group: MemoryGroup, tmp_path: Path
) -> None:
    within = ("sh", "-c", f'echo $$ > {group.folder}/cgroup.procs; exec "$@"', "sh")
    async with NatsServer(options=default_options(max_memory="4GB")) as server:
        async with connected(server) as client:
            js = client.jetstream()
            for number in range(100):
                await js.add_stream(name=f"S{number}", subjects=[f"s{number}"])

            async def add(stream: int) -> None:
                for number in range(100):
                    config = ConsumerConfig(durable_name=f"c{number}", mem_storage=True)
                    await js.add_consumer(f"S{stream}", config)

            await asyncio.gather(*map(add, range(100)))
        environ = {"STREAMGAUGE_INTERVAL": "3s", "STREAMGAUGE_PASSWORD": login.password}
        flags = ("--nats", server.url, "--source", source, "--user", login.user)
        async with exporting(tmp_path, *flags, environ=environ, before=within) as exporter:
            await exporter.ready()
            durations: set[float | None] = set()

            async def polls() -> int:
                series = await exporter.scrape("?collect[]=server")
                if series.value("up") == 1:
                    durations.add(series.value("poll_duration_seconds"))
                return len(durations)

            await until(polls, lambda seen: seen >= 5, "no five complete polls")
            scraped = (await exporter.request("/metrics")).body
            used = await asyncio.to_thread(group.used)
            log = await exporter.child.log_text()
    assert scraped.count(b"\nstreamgauge_consumer_num_pending{") == 10_000
    assert used < LIMIT, "its memory reached the limit"
    # The bounds follow the group.
    assert f"bytes={LIMIT // 4} memory_limit={LIMIT}" in log
    print(f"{source}: {used / MEGABYTE:.0f} MiB")
