"""The other two exporters and ours on the same three servers, with one scrape of each.

`python -m support.peer_exporters` (with tests/ on PYTHONPATH) records it into tests/recorded/peers."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import aiohttp
from nats.js.api import AckPolicy, ConsumerConfig, StreamSource
from support.nats.servers import (
    APP,
    NEWEST,
    SYS,
    Account,
    NatsCluster,
    User,
    connected,
    default_options,
)
from support.waiting import until

from alerts.compatibility.rule_files import EXPORTER, ROOT, SURVEYOR
from exporter import catalog
from streamgauge.demo.nats_server.options import SYSTEM_ACCOUNT
from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.ports import free_ports

RECORDED: Final = ROOT / "tests" / "recorded" / "peers"
PEERS: Final = ("prometheus-nats-exporter", "nats-surveyor")
OURS: Final = "streamgauge"
_LIMITED: Final = ("  jetstream { max_mem: 10MB, max_file: 100MB }",)
# Not the library's parser: it takes gauges that end in _count for something else.
_SERIES: Final = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')
_ALL_OF_EXPORTER: Final = (
    "-varz", "-jsz=all", "-healthz", "-connz", "-routez", "-subz", "-leafz", "-accstatz", "-accountz",
)  # fmt: skip
_ALL_OF_SURVEYOR: Final = ("--jsz", "all", "--accounts", "--raftz", "--count", "3")


@dataclass(frozen=True)
class Sample:
    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class PeerScrapes:
    """The expositions of all three, by program."""

    texts: Mapping[str, str]

    def samples(self, program: str) -> list[Sample]:
        return [
            Sample(name, dict(_LABEL.findall(labels)), float(value))
            for name, labels, value in _SERIES.findall(self.texts[program])
        ]

    def names(self, program: str) -> set[str]:
        """Of all families, without those of the language's runtime."""
        found = re.findall(r"^# TYPE (\w+)", self.texts[program], re.MULTILINE)
        return {name for name in found if not name.startswith(("go_", "process_", "promhttp_"))}


def recorded() -> PeerScrapes:
    return PeerScrapes({name: (RECORDED / f"{name}.txt").read_text() for name in (*PEERS, OURS)})


def missing_peers() -> list[str]:
    return [name for name in PEERS if shutil.which(name) is None]


async def scrape_peers(folder: Path) -> PeerScrapes:
    options = default_options(
        accounts=(
            Account("APP", (User("app", "app"),)),
            Account("LIMITED", (User("limited", "limited"),), jetstream=False, extra=_LIMITED),
            Account(SYSTEM_ACCOUNT, (User("sys", "sys"),), jetstream=False),
        )
    )
    async with NatsCluster(3, NEWEST, options) as cluster:
        await _populate(cluster)
        async with _peer(folder, PEERS[0], *_ALL_OF_EXPORTER, *cluster.monitor_urls) as exporter:
            login = ("--user", SYS.user, "--password", SYS.password)
            urls = ",".join(cluster.urls)
            flags = ("--servers", urls, *login, *_ALL_OF_SURVEYOR)
            async with _peer(folder, PEERS[1], *flags) as surveyor:
                ours = await _ours(folder, cluster)
                texts = (await _scrape(exporter), await _scrape(surveyor), ours)
    return PeerScrapes(dict(zip((*PEERS, OURS), texts, strict=True)))


async def _populate(cluster: NatsCluster) -> None:
    """Replicas, limits, a mirror, a source, and a consumer in the midst of its work."""
    async with connected(cluster, APP) as client:
        js = client.jetstream()
        await js.add_stream(
            name="ORDERS", subjects=["orders.>"], num_replicas=3, max_bytes=10**7, max_msgs=10**5
        )
        await js.add_stream(name="COPY", mirror=StreamSource(name="ORDERS"))
        await js.add_stream(name="ALL", sources=[StreamSource(name="ORDERS")])
        for name in ("worker", "idler"):
            explicit = ConsumerConfig(durable_name=name, ack_policy=AckPolicy.EXPLICIT)
            await js.add_consumer("ORDERS", explicit)
        for number in range(50):
            await js.publish(f"orders.{number}", b"x" * 100)
        worker = await js.pull_subscribe_bind("worker", "ORDERS")
        for message in (await worker.fetch(10))[:5]:
            await message.ack_sync()
        await until(
            lambda: js.stream_info("ALL"), lambda info: info.state.messages == 50, "ALL is behind"
        )
        await until(
            lambda: js.stream_info("COPY"), lambda info: info.state.messages == 50, "COPY is behind"
        )


@asynccontextmanager
async def _peer(folder: Path, program: str, *flags: str) -> AsyncIterator[str]:
    """Its /metrics, on a free port."""
    port = free_ports(1)[0]
    child = Child(program, folder / f"{program}.log")
    place = ("-a", "127.0.0.1", "-p", str(port))
    await child.start(shutil.which(program) or program, *place, *flags, environment=os.environ)
    try:
        yield f"http://127.0.0.1:{port}/metrics"
    finally:
        await child.stop()


async def _scrape(url: str) -> str:
    async def request() -> str:
        try:
            async with aiohttp.ClientSession() as client, client.get(url) as response:
                return await response.text()
        except aiohttp.ClientConnectorError:
            return ""

    text = await until(request, lambda text: "stream_last_seq" in text, f"{url} reports no stream")
    return text if text.endswith("\n") else f"{text}\n"


async def _ours(folder: Path, cluster: NatsCluster) -> str:
    secret = folder / "password"
    await asyncio.to_thread(secret.write_text, SYS.password)
    urls = [word for url in cluster.urls for word in ("--nats", url)]
    login = ("--user", SYS.user, "--password-file", str(secret))
    flags = ("--once", "--source", "system", "--detail", "full", *login, *urls)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "streamgauge.cli", "exporter", *flags, stdin=DEVNULL, stdout=PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


def _shortened(text: str, wanted: set[str]) -> str:
    """All names, samples only of those that are compared: a recording that can be read."""
    kept = []
    for line in text.splitlines():
        series = _SERIES.match(line)
        if line.startswith("# TYPE") or (series and series[1] in wanted):
            kept.append(line)
    return "\n".join(kept) + "\n"


async def _record() -> None:
    with TemporaryDirectory() as folder:
        moment = await scrape_peers(Path(folder))
    RECORDED.mkdir(parents=True, exist_ok=True)
    compared = {old.name for old in (*EXPORTER, *SURVEYOR) if old.rule}
    for program, text in moment.texts.items():
        wanted = set(catalog.BY_NAME) if program == OURS else compared
        (RECORDED / f"{program}.txt").write_text(_shortened(text, wanted))


if __name__ == "__main__":
    asyncio.run(_record())
