"""A nats-server as a child process, for the demo and the tests."""

import asyncio
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import aiohttp

from streamgauge.demo.nats_server.options import NatsOptions, Ports, config_text
from streamgauge.demo.processes.child import Child, ChildError
from streamgauge.demo.processes.lifecycle import Lifecycle
from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.processes.programs import nats_server

START_DEADLINE_SECONDS: Final = 30.0
START_ATTEMPTS: Final = 5


class NatsServerError(ChildError):
    """The server did not start, or an operation on it failed."""


class PortTakenError(NatsServerError):
    """Another process listens on one of the ports."""


class NatsServer(Lifecycle):
    """A server with its own folder; ports and store stay the same over stop and start.

    `async with` starts it and removes everything at the end; so do `start` and `close`.
    """

    def __init__(
        self,
        version: str | None = None,
        options: NatsOptions | None = None,
        *,
        ports: Ports | None = None,
        routes: Sequence[int] = (),
    ) -> None:
        self.options = options or NatsOptions()
        self._wanted_version = version
        self._version = version or ""
        self._ports = ports
        self._ports_are_fixed = ports is not None
        self._routes = routes
        self._folder: Path | None = None
        self._child: Child | None = None

    @property
    def name(self) -> str:
        return self.options.server_name

    @property
    def version(self) -> str:
        """As the program reports it; known after the first start."""
        return self._version

    @property
    def ports(self) -> Ports:
        if self._ports is None:
            raise NatsServerError(f"{self.name} has no ports before its first start")
        return self._ports

    @property
    def url(self) -> str:
        scheme = "nats" if self.options.tls is None else "tls"
        return f"{scheme}://127.0.0.1:{self.ports.client}"

    @property
    def monitor_url(self) -> str:
        return f"http://127.0.0.1:{self.ports.monitor}"

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.running

    @property
    def pid(self) -> int:
        return self._started().pid

    async def start(self, *, healthy: bool = True) -> None:
        """Returns when clients can connect and, if `healthy`, when JetStream is up.

        A node of a cluster without quorum never becomes healthy.
        """
        for attempt in range(1, START_ATTEMPTS + 1):
            try:
                return await self._start_once(healthy=healthy)
            except PortTakenError:
                if self._ports_are_fixed or attempt == START_ATTEMPTS:
                    raise
                self._ports = None
        return None

    async def stop(self) -> None:
        """Stops it gracefully; does nothing if it is not running."""
        if self._child is not None:
            await self._child.stop()

    async def kill(self) -> None:
        """Kills it, like a crash."""
        if self._child is not None:
            await self._child.kill()

    async def restart(self, *, healthy: bool = True) -> None:
        """Stops it, if it runs, and starts it on the same ports and the same store."""
        await self.stop()
        # Clients and other nodes know these ports by now.
        self._ports_are_fixed = True
        await self.start(healthy=healthy)

    async def ended(self) -> int:
        """Waits for the end of the process and returns its exit code."""
        return await self._started().ended()

    async def close(self) -> None:
        """Stops it and removes its folder."""
        await self.stop()
        if self._folder is not None:
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        self._folder = self._child = None

    async def log_text(self) -> str:
        """The log since the first start."""
        return "" if self._child is None else await self._child.log_text()

    async def failure(self, what: str) -> ChildError:
        """An error with the last log lines."""
        return await self._started().failure(what)

    def _started(self) -> Child:
        if self._child is None:
            raise NatsServerError(f"{self.name} was not started")
        return self._child

    async def _start_once(self, *, healthy: bool) -> None:
        if self.running:
            raise NatsServerError(f"{self.name} is already running")
        program, child, config = await asyncio.to_thread(self._prepare)
        await child.start(program, "-c", config)
        try:
            await self._wait_until_ready(child, healthy=healthy)
        except BaseException:
            await self.kill()
            raise
        self._version = _version_in(await child.log_since_start()) or self._version

    def _prepare(self) -> tuple[Path, Child, Path]:
        """The blocking part of a start, for a thread: program, child, configuration file."""
        program = nats_server(self._wanted_version)
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix=f"nats-{self.name}-"))
        if self._child is None:
            self._child = Child(f"nats-server {self.name}", self._folder / "log")
        if self._ports is None:
            self._ports = Ports(*free_ports(3))
        config = self._folder / "nats.conf"
        store = self._folder / "store"
        config.write_text(config_text(self.options, self._ports, store, self._routes))
        return program, self._child, config

    async def _wait_until_ready(self, child: Child, *, healthy: bool) -> None:
        try:
            async with asyncio.timeout(START_DEADLINE_SECONDS):
                while not await self._is_ready(child, healthy=healthy):
                    if not child.running:
                        break
                    await asyncio.sleep(0.02)
        except TimeoutError as error:
            raise await self._start_failure(child, "is not ready in time") from error
        if not child.running:
            raise await self._start_failure(child, "ended at start")

    async def _is_ready(self, child: Child, *, healthy: bool) -> bool:
        # Not by the ports alone: another process may listen on them.
        if "Server is ready" not in await child.log_since_start():
            return False
        if not await self._accepts_clients():
            return False
        status = await self._health_status()
        return status == 200 or (status is not None and not healthy)

    async def _accepts_clients(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.ports.client)
        except OSError:
            return False
        writer.close()
        # The server may close the connection first: that it was accepted is enough.
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)
        return True

    async def _health_status(self) -> int | None:
        url = f"{self.monitor_url}/healthz?js-server-only=true"
        try:
            async with aiohttp.ClientSession() as session, session.get(url) as response:
                return response.status
        except (aiohttp.ClientError, ConnectionError):
            return None

    async def _start_failure(self, child: Child, what: str) -> NatsServerError:
        taken = "address already in use" in await child.log_since_start()
        kind = PortTakenError if taken else NatsServerError
        return kind(str(await child.failure(what)))


def _version_in(log: str) -> str:
    found = re.search(r"Version:\s+(\S+)", log)
    return found[1] if found else ""
