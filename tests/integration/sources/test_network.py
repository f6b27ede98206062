"""Connections and traffic of servers and accounts, against what the test's own clients did."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import pytest
from nats.aio.client import Client
from support.exporter.exposed_series import Exposed, polled, polling
from support.nats.servers import (
    APP,
    NOJS,
    Login,
    NatsCluster,
    NatsOptions,
    NatsServer,
    connect,
    default_options,
    versions,
)
from support.waiting import until

from exporter.settings.config import SourceName
from exporter.sources.decoding.decode import version_numbers
from streamgauge.demo.processes.ports import free_ports

MESSAGES: Final = 50
PAYLOAD: Final = b"seven.b"
SUBSCRIPTIONS_SINCE: Final = (2, 10)
TRAFFIC: Final = ("received_messages", "received_bytes", "sent_messages", "sent_bytes")
EXACT: Final = (MESSAGES, MESSAGES * len(PAYLOAD), MESSAGES, MESSAGES * len(PAYLOAD))
each_version = pytest.mark.parametrize("version", versions())
of_servers = pytest.mark.parametrize("source", ["system", "monitor"])


@asynccontextmanager
async def clients(server: NatsServer, login: Login, number: int) -> AsyncIterator[list[Client]]:
    async with AsyncExitStack() as stack:
        found = [await connect(server, login) for _ in range(number)]
        for client in found:
            stack.push_async_callback(client.close)
        yield found


async def exchange(reader: Client, writer: Client) -> None:
    """Every message goes through the server once in and once out."""
    subscription = await reader.subscribe("t")
    await reader.flush()
    for _ in range(MESSAGES):
        await writer.publish("t", PAYLOAD)
    await writer.flush()
    for arrived in range(MESSAGES):
        try:
            await subscription.next_msg(timeout=60)
        except TimeoutError:
            ends = [(each.is_connected, each.last_error, each.stats) for each in (reader, writer)]
            pytest.fail(f"{arrived} of {MESSAGES} messages arrived; reader and writer: {ends}")


def account_traffic(exposed: Exposed, account: str) -> tuple[float | None, ...]:
    labels = {"account": account, "server": "n1"}
    return tuple(exposed.value(f"account_{name}_total", **labels) for name in TRAFFIC)


def server_traffic(exposed: Exposed) -> list[float]:
    found = [exposed.value(f"server_{name}_total", server="n1") for name in TRAFFIC]
    return [value for value in found if value is not None]


@each_version
@of_servers
async def test_an_account_has_the_connections_and_traffic_of_its_clients(
    version: str, source: SourceName
) -> None:
    async with NatsServer(version, default_options()) as server, clients(server, NOJS, 3) as ours:
        await exchange(ours[0], ours[1])
        async with polling(server, source) as poller:
            exposed = await polled(poller)
    labels = {"account": "NOJS", "server": "n1"}
    assert account_traffic(exposed, "NOJS") == EXACT
    assert exposed.value("account_connections", **labels) == 3
    assert exposed.value("account_leaf_nodes", **labels) == 0
    assert exposed.value("account_slow_consumers_total", **labels) == 0
    reported = exposed.value("account_subscriptions", **labels) is not None
    assert reported == (version_numbers(version) >= SUBSCRIPTIONS_SINCE)
    # An account that was never used has no series, and one without JetStream no usage.
    assert exposed.named("account_connections", account="OTHER") == {}
    assert exposed.named("account_streams", account="NOJS") == {}


@each_version
async def test_an_ordinary_user_sees_its_own_account(version: str) -> None:
    async with (
        NatsServer(version, default_options()) as server,
        clients(server, APP, 2) as ours,
        polling(server, "account") as poller,
    ):
        before = await polled(poller)
        await exchange(*ours)
        after = await polled(poller)
    labels = {"account": "APP", "server": "n1"}
    assert after.value("account_connections", **labels) == 3  # the exporter is one of them
    risen = [
        (new or 0) - (old or 0)
        for new, old in zip(
            account_traffic(after, "APP"), account_traffic(before, "APP"), strict=True
        )
    ]
    assert all(each >= exact for each, exact in zip(risen, EXACT, strict=True))
    assert after.named("server_connections") == {}


@each_version
@of_servers
async def test_a_server_counts_what_its_clients_send_and_receive(
    version: str, source: SourceName
) -> None:
    own = 1 if source == "system" else 0  # connections of the exporter
    async with (
        NatsServer(version, default_options()) as server,
        clients(server, NOJS, 4) as ours,
        polling(server, source) as poller,
    ):
        before = await polled(poller)
        for place in range(6):
            await ours[3].subscribe(f"further.{place}")
        await ours[3].flush()
        await exchange(ours[0], ours[1])
        after = await polled(poller)
    assert after.value("server_connections", server="n1") == 4 + own
    opened = after.value("server_connections_opened_total", server="n1")
    assert opened is not None
    assert opened >= 4 + own
    risen = [b - a for a, b in zip(server_traffic(before), server_traffic(after), strict=True)]
    assert len(risen) == len(EXACT)
    if source == "monitor":  # it sends nothing through NATS
        assert tuple(risen) == EXACT
    else:
        assert all(each >= exact for each, exact in zip(risen, EXACT, strict=True))
    subscriptions = [each.value("server_subscriptions", server="n1") for each in (before, after)]
    assert subscriptions[1] == (subscriptions[0] or 0) + 7
    assert after.value("server_routes", server="n1") == 0
    assert after.value("server_gateways", server="n1") == (0 if source == "system" else None)
    assert after.value("server_leaf_nodes", server="n1") == 0


@each_version
async def test_the_routes_of_a_cluster_are_counted_alike(version: str) -> None:
    async with (
        NatsCluster(3, version, default_options()) as cluster,
        polling(cluster, "system") as system,
        polling(cluster, "monitor") as monitor,
    ):

        async def seen() -> list[dict[str, float | None]]:
            found = [await polled(system), await polled(monitor)]
            names = [node.name for node in cluster.nodes]
            return [
                {name: each.value("server_routes", server=name) for name in names} for each in found
            ]

        # Connections of the route pool may still be opened after the cluster is formed.
        routes, _ = await until(
            seen,
            lambda found: found[0] == found[1] and all((n or 0) >= 2 for n in found[0].values()),
            "both sources report other routes",
        )
    pooled = version_numbers(version) >= (2, 10)
    assert all((number or 0) > 2 if pooled else number == 2 for number in routes.values())


@each_version
@of_servers
async def test_a_leaf_node_is_counted(version: str, source: SourceName) -> None:
    (port,) = free_ports(1)
    hub = default_options(extra=(f'leafnodes {{ listen: "127.0.0.1:{port}" }}',))
    remote = f'leafnodes {{ remotes: [ {{ url: "nats-leaf://app:app@127.0.0.1:{port}" }} ] }}'
    async with NatsServer(version, hub) as server, polling(server, source) as poller:
        assert (await polled(poller)).value("server_leaf_nodes", server="n1") == 0
        async with NatsServer(version, NatsOptions(extra=(remote,), jetstream=False)):

            async def connected() -> bool:
                poller.source.account_stats.interval = 0.0  # type: ignore[attr-defined]
                exposed = await polled(poller)
                labels = {"account": "APP", "server": "n1"}
                return exposed.value("account_leaf_nodes", **labels) == 1 == exposed.value(
                    "server_leaf_nodes", server="n1"
                )  # fmt: skip

            await until(connected, bool, "the leaf node is not counted")
