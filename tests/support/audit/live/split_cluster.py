"""A cluster whose last node is connected through proxies that a test can block."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Final

from support.audit.live.cluster import page_of
from support.nats.servers import NatsCluster, NatsOptions, NatsServer
from support.waiting import until

HOST: Final = "127.0.0.1"
ISOLATED: Final = "n3"  # the isolated node
# Between two servers: a pool of three, and one for the system account.
ROUTES_OF_A_PAIR: Final = 4


class Proxy:
    """A TCP proxy for the routes to one server. When blocked, connections stay open."""

    def __init__(self, connected: asyncio.Event) -> None:
        self.target = 0  # the port behind it
        self._connected = connected
        self._connections: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None

    async def open(self) -> None:
        self._listener = await asyncio.start_server(self._accept, HOST, 0)

    @property
    def port(self) -> int:
        assert self._listener is not None
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        # asyncio streams would log a cancelled task as an error.
        with suppress(OSError, asyncio.CancelledError):
            await self._connect(reader, writer)
        writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._connected.wait()
        responses, requests = await asyncio.open_connection(HOST, self.target)
        directions = [
            asyncio.create_task(self._carry(reader, requests)),
            asyncio.create_task(self._carry(responses, writer)),
        ]
        try:
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for direction in directions:
                direction.cancel()
            await asyncio.gather(*directions, return_exceptions=True)
            requests.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            await self._connected.wait()
            writer.write(data)
            await writer.drain()


class LastNode(NatsServer):
    """Starts after the others are connected to each other, so that they do not use a proxy."""

    others: tuple[NatsServer, ...] = ()

    async def start(self, *, healthy: bool = True) -> None:
        first, second = self.others

        async def routes() -> int:
            found = (await page_of(first, "routez")).get("routes") or ()
            return sum(route.get("remote_name") == second.name for route in found)

        await until(routes, lambda count: count == ROUTES_OF_A_PAIR, "the others are not connected")
        await super().start(healthy=healthy)


class SplitCluster(NatsCluster):
    """n1 and n2 are connected directly; n3 through proxies in both directions."""

    def __init__(
        self,
        version: str,
        options: NatsOptions,
        proxies: dict[str, Proxy],
        connected: asyncio.Event,
    ) -> None:
        super().__init__(3, version, options)
        self._proxies = proxies
        self._connected = connected

    @contextmanager
    def split(self) -> Iterator[None]:
        self._connected.clear()
        try:
            yield
        finally:
            self._connected.set()

    def _new_nodes(self) -> list[NatsServer]:
        first, second, last = super()._new_nodes()
        for node in (first, second, last):
            self._proxies[node.name].target = node.ports.cluster
        late = LastNode(last._wanted_version, last.options, ports=last.ports)
        late.others = (first, second)
        self._join(first, second.ports.cluster, self._proxies[ISOLATED].port)
        self._join(second, first.ports.cluster, self._proxies[ISOLATED].port)
        self._join(late, self._proxies["n1"].port, self._proxies["n2"].port)
        return [first, second, late]

    def _join(self, node: NatsServer, *ports: int) -> None:
        """Advertises only the proxy, so that gossip does not bypass it."""
        urls = ", ".join(f"nats-route://{HOST}:{port}" for port in ports)
        block = (
            f"cluster {{ name: C1, listen: {HOST}:{node.ports.cluster}, routes: [{urls}], "
            f'advertise: "{HOST}:{self._proxies[node.name].port}" }}'
        )
        node.options = replace(node.options, cluster_name="", extra=(block,))


@asynccontextmanager
async def split_cluster(version: str, options: NatsOptions) -> AsyncIterator[SplitCluster]:
    connected = asyncio.Event()
    connected.set()
    proxies = {name: Proxy(connected) for name in ("n1", "n2", ISOLATED)}
    try:
        for proxy in proxies.values():
            await proxy.open()
        async with SplitCluster(version, options, proxies, connected) as cluster:
            yield cluster
    finally:
        for proxy in proxies.values():
            await proxy.close()
