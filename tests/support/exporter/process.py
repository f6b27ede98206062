"""`streamgauge exporter` as a child process: start, scrape, signals, log."""

import asyncio
import os
import signal
import ssl
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
from nats.aio.client import Client
from nats.js.api import ConsumerConfig
from prometheus_client.parser import text_string_to_metric_families
from support.waiting import until

from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.ports import free_ports

COMMAND: Final = (sys.executable, "-m", "streamgauge.cli", "exporter")
UNREACHABLE: Final = "nats://127.0.0.1:1"  # a port that nothing listens on
PLAIN: Final = {"Accept-Encoding": "identity"}


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class Series:
    """What one scrape held: the value of every sample."""

    samples: Mapping[tuple[str, frozenset[tuple[str, str]]], float]

    def __iter__(self) -> Iterator[str]:
        return iter({name for name, _ in self.samples})

    def named(self, name: str, **labels: str) -> list[float]:
        """The values of all series of that name whose labels include these."""
        wanted = set(labels.items())
        full = f"streamgauge_{name}"
        return [
            value for (found, has), value in self.samples.items() if found == full and wanted <= has
        ]

    def value(self, name: str, **labels: str) -> float | None:
        """None when there is no such series; several are an error of the test."""
        found = self.named(name, **labels)
        assert len(found) <= 1, f"{name} {labels}: {len(found)} series"
        return found[0] if found else None


def read_series(text: str) -> Series:
    return Series(
        {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
    )


@dataclass
class Exporter:
    """A running exporter. The log is everything it wrote."""

    child: Child
    port: int
    client: aiohttp.ClientSession = field(repr=False)
    tls: ssl.SSLContext | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # of every request

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def request(
        self,
        path: str,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """The body is as it came over the wire, compressed or not."""
        wanted = {**self.headers, **(headers or PLAIN)}
        pending = self.client.request(method, self.url + path, headers=wanted, ssl=self.tls or True)
        async with pending as response:
            return Response(response.status, dict(response.headers), await response.read())

    async def scrape(self, query: str = "") -> Series:
        response = await self.request(f"/metrics{query}")
        assert response.status == 200, response.text
        return read_series(response.text)

    async def listening(self) -> None:
        async def responses() -> bool:
            if not self.child.running:
                raise await self.child.failure("ended at start")
            try:
                await self.request("/-/healthy")
            except aiohttp.ClientConnectorError:
                return False
            return True

        await until(responses, bool, "not listening")

    async def ready(self) -> None:
        await self.listening()

        async def status() -> int:
            return (await self.request("/-/ready")).status

        await until(status, lambda got: got == 200, "not ready")

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.child.pid, number)

    async def log_lines(self) -> list[str]:
        return (await self.child.log_text()).splitlines()


@asynccontextmanager
async def exporting(
    folder: Path,
    *flags: str,
    environ: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
    headers: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
) -> AsyncIterator[Exporter]:
    """Started on a free port of its own, not yet ready; gone at the end."""
    port = free_ports(1)[0]
    child = Child("exporter", folder / f"exporter-{port}.log")
    listen = {"STREAMGAUGE_WEB_LISTEN_ADDRESS": f"127.0.0.1:{port}"}
    environment = _environment(listen | dict(environ or {}))
    await child.start(*before, *COMMAND, *flags, environment=environment)
    try:
        async with aiohttp.ClientSession(auto_decompress=False) as client:
            yield Exporter(child, port, client, tls, headers or {})
    finally:
        await child.stop()


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


async def ran(*flags: str, stdout: int = PIPE) -> Ended:
    """To its own end; `out` stays empty when its output goes elsewhere."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *flags, stdin=DEVNULL, stdout=stdout, stderr=PIPE, env=_environment({})
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, (out or b"").decode(), err.decode())


def without_time(lines: Sequence[str]) -> list[str]:
    """Log lines as they repeat: without when they were written."""
    return [line.partition(" ")[2] for line in lines]


async def add_orders(client: Client) -> None:
    """A stream with five messages and three consumers who have seen none of them."""
    js = client.jetstream()
    await js.add_stream(name="ORDERS", subjects=["orders.>"])
    for number in range(3):
        await js.add_consumer("ORDERS", ConsumerConfig(durable_name=f"worker-{number}"))
    for number in range(5):
        await js.publish(f"orders.{number}", b"hello")


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Without the settings of the user who runs the tests."""
    clean = {name: text for name, text in os.environ.items() if "STREAMGAUGE_" not in name}
    return {**clean, "PYTHONWARNINGS": "error", **environ}
