"""`streamgauge archive` as a child process: started, killed, started again, written to, its log read."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
from support.exporter.process import Ended, Response, Series, read_series
from support.remote_write import messages as rw
from support.waiting import until

from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.ports import free_ports

COMMAND: Final = (sys.executable, "-m", "archive.main")


@dataclass
class ArchiveProcess:
    """An archive with a port and a folder that stay the same over every restart."""

    child: Child
    port: int
    data: Path
    flags: tuple[str, ...]
    client: aiohttp.ClientSession = field(repr=False)
    tls: ssl.SSLContext | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # of every request
    host: str = "127.0.0.1"  # where it listens
    prefix: str = ""  # of all routes
    before: tuple[str, ...] = ()  # of the command

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def start(self) -> None:
        listen = ("--web.listen-address", f"{self.host}:{self.port}", "--data", str(self.data))
        await self.child.start(
            *self.before, *COMMAND, *listen, *self.flags, environment=_environment()
        )

    async def ready(self) -> None:
        async def status() -> int:
            if not self.child.running:
                raise await self.child.failure("ended at start")
            try:
                return (await self.request(f"{self.prefix}/-/ready")).status
            except aiohttp.ClientError:
                return 0

        await until(status, lambda got: got == 200, "the archive is not ready")

    async def request(
        self,
        path: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        wanted = {**self.headers, **(headers or {})}
        sent = self.client.request(
            method, self.url + path, data=body, headers=wanted, ssl=self.tls or True
        )
        async with sent as response:
            return Response(response.status, dict(response.headers), await response.read())

    async def write(
        self, message: bytes, version: str = rw.V1, headers: Mapping[str, str] | None = None
    ) -> Response:
        named = {**rw.headers(version), **(headers or {})}
        return await self.request(
            f"{self.prefix}/api/v1/write", "POST", rw.compressed(message), named
        )

    async def scrape(self) -> Series:
        response = await self.request("/metrics")
        assert response.status == 200, response.text
        return read_series(response.text)

    async def stop(self) -> int:
        """In order, with everything published; the exit code."""
        os.kill(self.child.pid, signal.SIGTERM)
        return await self.child.ended()

    async def log_lines(self) -> list[str]:
        return (await self.child.log_text()).splitlines()


@asynccontextmanager
async def archiving(
    folder: Path,
    *flags: str,
    tls: ssl.SSLContext | None = None,
    headers: Mapping[str, str] | None = None,
    host: str = "127.0.0.1",
    files: Mapping[str, str] | None = None,
    prefix: str = "",
    before: tuple[str, ...] = (),
    data: Path | None = None,
) -> AsyncIterator[ArchiveProcess]:
    """Started and ready, with these files in the folder; gone at the end, by a kill if it runs."""
    for name, text in (files or {}).items():
        await asyncio.to_thread((folder / name).write_text, text)
    port = free_ports(1)[0]
    child = Child("archive", folder / f"archive-{port}.log")
    async with aiohttp.ClientSession() as client:
        archive = ArchiveProcess(
            child,
            port,
            data or folder / "data",
            flags,
            client,
            tls,
            headers or {},
            host,
            prefix,
            before,
        )
        await archive.start()
        try:
            await archive.ready()
            yield archive
        finally:
            await child.kill()


async def ran(*flags: str) -> Ended:
    """To its own end."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *flags, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=_environment()
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


def _environment() -> dict[str, str]:
    """Without the settings of the environment that runs the tests."""
    clean = {name: text for name, text in os.environ.items() if "STREAMGAUGE_" not in name}
    return {**clean, "PYTHONWARNINGS": "error"}
