"""Several nats-servers as one JetStream cluster, with the operations of demo and tests."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import aiohttp
import nats
from nats.aio.client import Client

from streamgauge.demo.nats_server.options import NatsOptions, Ports
from streamgauge.demo.nats_server.server import (
    START_ATTEMPTS,
    NatsServer,
    NatsServerError,
    PortTakenError,
)
from streamgauge.demo.processes.lifecycle import Lifecycle
from streamgauge.demo.processes.ports import free_ports

SETTLE_DEADLINE_SECONDS: Final = 60.0
# Short: during an election a request gets no response, and only a retry helps.
REQUEST_DEADLINE_SECONDS: Final = 1.0
ELECTION_SECONDS: Final = 15.0
STEP_DOWN_TRIES: Final = 4
NO_LEADER: Final = ""


@dataclass(frozen=True)
class Login:
    """A user of the account that owns the stream."""

    user: str
    password: str


class NatsCluster(Lifecycle):
    """Nodes n1, n2, ... with routes to each other; `async with` leaves nothing behind."""

    def __init__(
        self, size: int = 3, version: str | None = None, options: NatsOptions | None = None
    ) -> None:
        self._size = size
        self._version = version
        self._options = replace(options or NatsOptions(), cluster_name="C1")
        self.nodes: list[NatsServer] = []

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    @property
    def monitor_urls(self) -> list[str]:
        return [node.monitor_url for node in self.nodes]

    def node_of(self, name: str) -> NatsServer:
        for node in self.nodes:
            if node.name == name:
                return node
        raise NatsServerError(f"no node {name!r}, only {[node.name for node in self.nodes]}")

    async def start(self) -> None:
        """Returns when the meta group has a leader and every node follows it.

        A new cluster whose nodes never agree, as on a busy machine, is started once more."""
        for attempt in range(1, START_ATTEMPTS + 1):
            self.nodes = await asyncio.to_thread(self._new_nodes)
            try:
                await _all(node.start() for node in self.nodes)
                return await self.settle()
            except NatsServerError as error:
                await self.close()
                no_agreement = not isinstance(error, PortTakenError)
                if attempt == (2 if no_agreement else START_ATTEMPTS):
                    raise
        return None

    async def close(self) -> None:
        await _all(node.close() for node in self.nodes)

    async def kill(self, name: str) -> None:
        await self.node_of(name).kill()

    async def stop(self, name: str) -> None:
        await self.node_of(name).stop()

    async def restart(self, name: str, *, healthy: bool = True) -> None:
        """Same ports, same store; `healthy=False` where the cluster has no quorum."""
        await self.node_of(name).restart(healthy=healthy)

    async def settle(self) -> None:
        """Waits until all running nodes name the same meta leader, which sees them all current."""

        async def settled() -> bool:
            running = [node for node in self.nodes if node.running]
            views = await asyncio.gather(*(_meta_group(node) for node in running))
            leaders = {view.get("leader", NO_LEADER) for view in views}
            if len(leaders) != 1 or NO_LEADER in leaders:
                return False
            current = [r["name"] for v in views for r in v.get("replicas") or () if r["current"]]
            return {node.name for node in running} <= {*current, *leaders}

        await _until(settled, "the cluster does not settle")

    async def meta_leader(self) -> str:
        """The name of the running node that leads the meta group, waited for in an election."""
        leader = NO_LEADER

        async def known() -> bool:
            nonlocal leader
            running = [node for node in self.nodes if node.running]
            views = await asyncio.gather(*(_meta_group(node) for node in running))
            # Followers name a dead leader until the next election: only a node itself knows.
            leading = [
                n.name for n, v in zip(running, views, strict=True) if v.get("leader") == n.name
            ]
            leader = leading[0] if leading else NO_LEADER
            return leader != NO_LEADER

        await _until(known, "no meta leader")
        return leader

    async def stream_leader(self, login: Login, stream: str) -> str:
        """The name of the node that leads the stream, waited for during an election."""
        return await self._leader(login, f"STREAM.INFO.{stream}")

    async def consumer_leader(self, login: Login, stream: str, consumer: str) -> str:
        """The name of the node that leads the consumer, waited for during an election."""
        return await self._leader(login, f"CONSUMER.INFO.{stream}.{consumer}")

    async def step_down_stream(self, login: Login, stream: str) -> str:
        """Moves the leader of a stream and returns the new one's name."""
        return await self._step_down(
            login, f"STREAM.LEADER.STEPDOWN.{stream}", f"STREAM.INFO.{stream}"
        )

    async def step_down_consumer(self, login: Login, stream: str, consumer: str) -> str:
        """Moves the leader of a consumer and returns the new one's name."""
        asset = f"{stream}.{consumer}"
        return await self._step_down(
            login, f"CONSUMER.LEADER.STEPDOWN.{asset}", f"CONSUMER.INFO.{asset}"
        )

    async def step_down_meta(self, system: Login) -> str:
        """Moves the meta leader, as a user of the system account, and returns the new one's name."""
        before = await self.meta_leader()
        after = before
        async with self._client(system) as client:
            await _request(client, "META.LEADER.STEPDOWN")

        async def moved() -> bool:
            nonlocal after
            after = await self.meta_leader()
            return after != before

        await _until(moved, f"the meta leader stays {before}")
        return after

    def _new_nodes(self) -> list[NatsServer]:
        numbers = free_ports(3 * self._size)
        ports = [Ports(*numbers[i : i + 3]) for i in range(0, len(numbers), 3)]
        routes = [each.cluster for each in ports]
        return [
            NatsServer(
                self._version,
                replace(self._options, server_name=f"n{number}"),
                ports=own,
                routes=[port for port in routes if port != own.cluster],
            )
            for number, own in enumerate(ports, start=1)
        ]

    @asynccontextmanager
    async def _client(self, login: Login) -> AsyncIterator[Client]:
        urls = [node.url for node in self.nodes if node.running]
        client = await nats.connect(urls, user=login.user, password=login.password)
        try:
            yield client
        finally:
            await client.close()

    async def _leader(
        self,
        login: Login,
        request: str,
        other_than: str = "",
        timeout: float = SETTLE_DEADLINE_SECONDS,
    ) -> str:
        leader = NO_LEADER
        async with self._client(login) as client:

            async def known() -> bool:
                nonlocal leader
                leader = (await _request(client, request)).get("cluster", {}).get("leader", "")
                return leader not in (NO_LEADER, other_than)

            await _until(known, f"{request} shows no leader other than {other_than!r}", timeout)
        return leader

    async def _step_down(self, login: Login, command: str, request: str) -> str:
        """Repeats until another node leads: 2.9 often elects the same one again."""
        before = await self._leader(login, request)
        async with self._client(login) as client:
            for _ in range(STEP_DOWN_TRIES):
                response = await _request(client, command)
                if "error" in response:
                    raise NatsServerError(f"{command}: {response['error']}")
                with suppress(NatsServerError):
                    return await self._leader(login, request, before, ELECTION_SECONDS)
        raise NatsServerError(f"{command}: {before!r} is elected again each time")


async def _request(client: Client, request: str) -> dict[str, Any]:
    """The response of the JetStream API; empty when there is none now."""
    try:
        response = await client.request(f"$JS.API.{request}", timeout=REQUEST_DEADLINE_SECONDS)
    except (nats.errors.TimeoutError, nats.errors.NoRespondersError):
        return {}
    decoded: dict[str, Any] = json.loads(response.data)
    return decoded


async def _meta_group(node: NatsServer) -> dict[str, Any]:
    """The meta group as that node reports it; empty when it does not respond."""
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{node.monitor_url}/jsz") as got,
        ):
            response = await got.json(content_type=None)
    except (aiohttp.ClientError, ConnectionError, json.JSONDecodeError):
        return {}
    group: dict[str, Any] = response.get("meta_cluster") or {}
    return group


async def _until(
    holds: Callable[[], Awaitable[bool]],
    otherwise: str,
    timeout: float = SETTLE_DEADLINE_SECONDS,
) -> None:
    """Polls, because the servers send no event for this."""
    try:
        async with asyncio.timeout(timeout):
            while True:
                if await holds():
                    return
                await asyncio.sleep(0.05)
    except TimeoutError as error:
        raise NatsServerError(otherwise) from error


async def _all(steps: Iterable[Awaitable[None]]) -> None:
    """Runs all to their end, then raises the first failure."""
    outcomes = await asyncio.gather(*steps, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
