"""The nats-server processes that all integration tests use."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import nats.errors
import pytest
from blockbuster import BlockingError
from nats.js import JetStreamContext
from nats.js.api import StreamConfig
from nats.js.errors import APIError, ServiceUnavailableError
from support.nats.servers import (
    APP,
    NOJS,
    SYS,
    NatsCluster,
    NatsOptions,
    NatsServer,
    NatsServerError,
    Permissions,
    User,
    connect,
    connected,
)
from support.nats.stream_ready import store_first_message
from support.waiting import until

ORDERS = StreamConfig(name="ORDERS", subjects=["orders.>"])


async def stored_messages(server: NatsServer | NatsCluster) -> int:
    """Repeated until it succeeds: the leader of the stream may not be elected yet."""
    async with connected(server) as client:

        async def counted() -> int | None:
            try:
                return (await client.jetstream(timeout=2).stream_info("ORDERS")).state.messages
            except (nats.errors.TimeoutError, ServiceUnavailableError):
                return None

        return await until(counted, lambda count: count is not None, "ORDERS gives no info") or 0


async def store_one_message(server: NatsServer | NatsCluster, *, replicas: int = 1) -> None:
    async with connected(server) as client:
        jetstream = client.jetstream(timeout=20)
        await _made(client.jetstream(timeout=5), replace(ORDERS, num_replicas=replicas))
        await store_first_message(jetstream, "orders.new")


async def _made(jetstream: JetStreamContext, stream: StreamConfig) -> None:
    """A new cluster may lose a request, or take a peer for offline: it is repeated."""

    async def is_created() -> bool:
        try:
            await jetstream.add_stream(stream)
        except (nats.errors.TimeoutError, APIError):
            return False
        return True

    await until(is_created, bool, f"stream {stream.name} cannot be created")


async def test_a_started_server_has_the_requested_version(
    nats_server: NatsServer, request: pytest.FixtureRequest
) -> None:
    async with connected(nats_server) as client:
        seen = client._server_info["version"]
    assert seen == nats_server.version == request.node.callspec.params["nats_server"]


async def test_a_restart_keeps_the_stream_and_the_address(nats_server: NatsServer) -> None:
    await store_one_message(nats_server)
    address = nats_server.url
    await nats_server.restart()
    assert nats_server.url == address
    assert await stored_messages(nats_server) == 1


async def test_a_killed_server_comes_back_with_its_stream(nats_server: NatsServer) -> None:
    await store_one_message(nats_server)
    await nats_server.kill()
    with pytest.raises(nats.errors.NoServersError):
        await connect(nats_server)
    await nats_server.restart()
    assert await stored_messages(nats_server) == 1


async def test_the_account_layout_has_an_account_without_jetstream_and_a_system_account(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server, NOJS) as client:
        with pytest.raises(nats.js.errors.ServiceUnavailableError):
            await client.jetstream().account_info()
    async with connected(nats_server, SYS) as client:
        response = await client.request("$SYS.REQ.SERVER.PING")
    assert b'"n1"' in response.data


async def test_a_user_is_held_to_its_permissions() -> None:
    user = User("u", "u", permissions=Permissions(publish_allow=("ok",), subscribe_deny=("no",)))
    denied: asyncio.Queue[str] = asyncio.Queue()

    async def note(error: Exception) -> None:
        await denied.put(str(error))

    async with NatsServer(options=NatsOptions(users=(user,))) as server:
        client = await nats.connect(server.url, user="u", password="u", error_cb=note)
        await client.publish("ok", b"")
        await client.publish("other", b"")
        await client.subscribe("no")
        reported = [await denied.get(), await denied.get()]
        await client.close()
    assert ['"other"' in reported[0], '"no"' in reported[1]] == [True, True], reported


async def test_a_server_that_cannot_start_reports_why_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(NatsServerError, match="Parse error"):
        async with NatsServer(options=NatsOptions(extra=("nonsense {",))):
            pass
    assert await asyncio.to_thread(lambda: list(tmp_path.iterdir())) == []


async def test_a_port_in_use_is_named(nats_server: NatsServer) -> None:
    with pytest.raises(NatsServerError, match="address already in use"):
        async with NatsServer(ports=nats_server.ports):
            pass


async def test_a_cluster_forms_and_leaders_move(nats_cluster: NatsCluster) -> None:
    await store_one_message(nats_cluster, replicas=3)
    before = await nats_cluster.stream_leader(APP, "ORDERS")
    after = await nats_cluster.step_down_stream(APP, "ORDERS")
    assert after != before
    assert await nats_cluster.stream_leader(APP, "ORDERS") == after


async def test_a_cluster_survives_the_death_of_its_meta_leader(nats_cluster: NatsCluster) -> None:
    await store_one_message(nats_cluster, replicas=3)
    dead = await nats_cluster.meta_leader()
    await nats_cluster.kill(dead)
    assert await nats_cluster.meta_leader() != dead
    await nats_cluster.restart(dead)
    await nats_cluster.settle()
    assert await stored_messages(nats_cluster) == 1


async def test_a_blocking_call_in_the_event_loop_is_caught() -> None:
    with pytest.raises(BlockingError):
        time.sleep(0.01)  # noqa: ASYNC251


async def test_a_token_opens_the_door_and_nothing_else_does() -> None:
    async with NatsServer(options=NatsOptions(token="s3cret")) as server:
        client = await nats.connect(server.url, token="s3cret")
        await client.close()
        # By hand: the library leaves its socket open when a server turns it away.
        reader, writer = await asyncio.open_connection("127.0.0.1", server.ports.client)
        writer.write(b'CONNECT {"auth_token": "other"}\r\nPING\r\n')
        response = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert b"-ERR 'Authorization Violation'" in response


async def test_a_domain_and_a_payload_limit_reach_the_server() -> None:
    async with NatsServer(options=NatsOptions(domain="hub", max_payload="2KB")) as server:
        client = await nats.connect(server.url)
        account = await client.jetstream().account_info()
        limit = client.max_payload
        await client.close()
    assert (account.domain, limit) == ("hub", 2048)
