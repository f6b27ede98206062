"""A cluster whose last node reaches the others only over lines that a test can cut."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Final

from support.audit.live.cluster import page_of
from support.nats.servers import NatsCluster, NatsOptions, NatsServer
from support.waiting import until

HOST: Final = "127.0.0.1"
APART: Final = "n3"  # the node that is cut off
# Between two servers: a pool of three, and one for the system account.
ROUTES_OF_A_PAIR: Final = 4


class Line:
    """An address for the routes to one server. Cut, it stays open and carries nothing."""

    def __init__(self, whole: asyncio.Event) -> None:
        self.target = 0  # the port behind it
        self._whole = whole
        self._calls: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None

    async def open(self) -> None:
        self._listener = await asyncio.start_server(self._response, HOST, 0)

    @property
    def port(self) -> int:
        assert self._listener is not None
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)

    async def _response(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        call = asyncio.current_task()
        assert call is not None
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        # The streams of asyncio report a cancelled call as a mistake: it ends as if hung up.
        with suppress(OSError, asyncio.CancelledError):
            await self._connect(reader, writer)
        writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._whole.wait()
        responses, requests = await asyncio.open_connection(HOST, self.target)
        ways = [
            asyncio.create_task(self._carry(reader, requests)),
            asyncio.create_task(self._carry(responses, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            requests.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            await self._whole.wait()
            writer.write(data)
            await writer.drain()


class LastNode(NatsServer):
    """Starts when the others have found each other: they would else do so over a line."""

    others: tuple[NatsServer, ...] = ()

    async def start(self, *, healthy: bool = True) -> None:
        first, second = self.others

        async def routes() -> int:
            found = (await page_of(first, "routez")).get("routes") or ()
            return sum(route.get("remote_name") == second.name for route in found)

        await until(routes, lambda count: count == ROUTES_OF_A_PAIR, "the others are not joined")
        await super().start(healthy=healthy)


class SplitCluster(NatsCluster):
    """n1 and n2 are joined directly; n3 is joined to them by lines, in both directions."""

    def __init__(
        self, version: str, options: NatsOptions, lines: dict[str, Line], whole: asyncio.Event
    ) -> None:
        super().__init__(3, version, options)
        self._lines = lines
        self._whole = whole

    @contextmanager
    def cut(self) -> Iterator[None]:
        self._whole.clear()
        try:
            yield
        finally:
            self._whole.set()

    def _new_nodes(self) -> list[NatsServer]:
        first, second, last = super()._new_nodes()
        for node in (first, second, last):
            self._lines[node.name].target = node.ports.cluster
        late = LastNode(last._wanted_version, last.options, ports=last.ports)
        late.others = (first, second)
        self._join(first, second.ports.cluster, self._lines[APART].port)
        self._join(second, first.ports.cluster, self._lines[APART].port)
        self._join(late, self._lines["n1"].port, self._lines["n2"].port)
        return [first, second, late]

    def _join(self, node: NatsServer, *ports: int) -> None:
        """Others are told of its line only, so that no gossip leads around it."""
        urls = ", ".join(f"nats-route://{HOST}:{port}" for port in ports)
        block = (
            f"cluster {{ name: C1, listen: {HOST}:{node.ports.cluster}, routes: [{urls}], "
            f'advertise: "{HOST}:{self._lines[node.name].port}" }}'
        )
        node.options = replace(node.options, cluster_name="", extra=(block,))


@asynccontextmanager
async def split_cluster(version: str, options: NatsOptions) -> AsyncIterator[SplitCluster]:
    whole = asyncio.Event()
    whole.set()
    lines = {name: Line(whole) for name in ("n1", "n2", APART)}
    try:
        for line in lines.values():
            await line.open()
        async with SplitCluster(version, options, lines, whole) as cluster:
            yield cluster
    finally:
        for line in lines.values():
            await line.close()
