"""Advisories of real servers against a known truth: who nakked, termed, gave up, restored."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.client import JetStreamContext
from support.exporter.event_listeners import (
    all_received,
    fetch,
    listening,
    request,
    stream_of,
    terms_of,
    worker_of,
)
from support.nats.servers import OLDEST, SYS, NatsServer, connected

from exporter.events.counts import EventCounts

Puller = JetStreamContext.PullSubscription


async def make_orders(client: Client, **consumer: Any) -> Puller:
    """A stream and a pull consumer `worker`."""
    await request(client, "STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["orders.>"]})
    config = {"durable_name": "worker", "ack_policy": "explicit", **consumer}
    await request(client, "CONSUMER.DURABLE.CREATE.ORDERS.worker",
              {"stream_name": "ORDERS", "config": config})  # fmt: skip
    return await client.jetstream().pull_subscribe_bind("worker", "ORDERS")


async def publish(client: Client, count: int, subject: str = "orders.new") -> None:
    for number in range(count):
        await client.jetstream().publish(subject, str(number).encode())


def by_seq(messages: list[Msg]) -> list[Msg]:
    return sorted(messages, key=lambda each: each.metadata.sequence.stream)


async def test_naks_and_terms_are_counted_by_one_each(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, listening(nats_server) as listener:
        orders = await make_orders(client)
        await publish(client, 20)
        messages = await fetch(orders, 20)
        for message in messages[:5]:
            await message.nak()
        for message in messages[5:8]:
            await message.term()
        for message in messages[8:]:
            await message.ack()
        again = await fetch(orders, 5)
        for message in again[:2]:
            await message.nak()
        await client.flush()
        counts = await all_received(
            listener.state,
            client,
            lambda seen: worker_of(seen).naks >= 7 and terms_of(seen) >= 3,
        )
    logged = nats_server.version != OLDEST
    assert worker_of(counts).naks == 7
    assert worker_of(counts).terms == ((("client" if logged else "unknown"), 3),)
    assert worker_of(counts).exhausted == 0
    assert counts.advisories["APP", "consumer_msg_naked"] == 7
    assert counts.advisories["APP", "consumer_created"] == 1
    assert "malformed" not in {kind for _, kind in counts.advisories}


async def test_a_term_with_a_reason_is_the_clients_even_if_it_sounds_like_a_servers(
    nats_server: NatsServer,
) -> None:
    if nats_server.version == OLDEST:
        pytest.skip("servers before 2.10.4 do not take a reason")
    async with connected(nats_server) as client, listening(nats_server) as listener:
        orders = await make_orders(client)
        await publish(client, 2)
        for message, why in zip(await fetch(orders, 2), ("bad payload", "by limits"), strict=True):
            await client.publish(message.reply, f"+TERM {why}".encode())
        await client.flush()
        counts = await all_received(listener.state, client, lambda seen: terms_of(seen) >= 2)
    assert worker_of(counts).terms == (("client", 2),)


async def test_messages_removed_unacked_differ_from_terms_of_the_client(
    nats_server: NatsServer,
) -> None:
    """A server sends the same text for a delete and for a limit."""
    async with connected(nats_server) as client, listening(nats_server) as listener:
        orders = await make_orders(client)
        await publish(client, 6)
        messages = by_seq(await fetch(orders, 6))
        await messages[0].term()
        await client.flush()
        for seq in (2, 3):
            await request(client, "STREAM.MSG.DELETE.ORDERS", {"seq": seq})
        await request(client, "STREAM.UPDATE.ORDERS",
                  {"name": "ORDERS", "subjects": ["orders.>"], "max_msgs": 1})  # fmt: skip
        counts = await all_received(listener.state, client, lambda seen: terms_of(seen) >= 5)
    logged = nats_server.version != OLDEST
    assert worker_of(counts).terms == (
        (("client", 1), ("deleted", 4)) if logged else (("unknown", 5),)
    )


async def test_messages_that_ran_out_of_deliveries_are_counted_once_each(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, listening(nats_server) as listener:
        orders = await make_orders(client, max_deliver=2, ack_wait=200_000_000)
        await publish(client, 4)
        messages = by_seq(await fetch(orders, 4))
        await messages[1].ack()
        for message in await fetch(orders, 3):  # after ack_wait they come again
            assert message.metadata.num_delivered == 2
        pulling = asyncio.create_task(orders.fetch(1, timeout=20))
        # A pull consumer reports it only when a client pulls.
        counts = await all_received(
            listener.state, client, lambda seen: worker_of(seen).exhausted >= 3
        )
        await publish(client, 1)
        await pulling
    received = worker_of(counts)
    assert (received.exhausted, received.exhausted_seqs) == (3, frozenset({1, 3, 4}))
    assert received.last_exhausted_seq in {1, 3, 4}
    assert received.naks == 0


async def test_every_ack_is_sampled_into_the_histogram(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, listening(nats_server) as listener:
        orders = await make_orders(client, sample_freq="100")
        await publish(client, 12)
        quick, slow = await fetch(orders, 9), await fetch(orders, 3)
        for message in quick:
            await message.ack()
        await client.flush()
        await asyncio.sleep(0.3)  # the truth: these are acked no sooner
        for message in slow:
            await message.ack()
        await client.flush()
        counts = await all_received(listener.state, client, lambda seen: samples_of(seen) >= 12)
    times = worker_of(counts).ack_times
    assert times is not None
    assert samples_of(counts) == 12
    late = sum(number for bound, number in zip(times.bounds, times.counts, strict=False)
               if bound > 0.25)  # fmt: skip
    assert late >= 3
    assert 0.9 <= times.sum < 60


def samples_of(counts: EventCounts) -> int:
    times = worker_of(counts).ack_times
    return times.cumulative()[-1] if times else 0


async def test_a_restore_is_counted_for_the_stream_that_came_back(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, listening(nats_server) as listener:
        await make_orders(client)
        await publish(client, 3)
        backup, chunks = await snapshot(client)
        await request(client, "STREAM.DELETE.ORDERS")
        await restore(client, backup, chunks)
        counts = await all_received(
            listener.state, client, lambda seen: stream_of(seen).restores >= 1
        )
    assert stream_of(counts).restores == 1
    kinds = {kind: number for (_, kind), number in counts.advisories.items()}
    logged = ("stream_snapshot_create", "stream_snapshot_complete", "stream_restore_create",
            "stream_restore_complete")  # fmt: skip
    assert {kind: kinds.get(kind) for kind in logged} == dict.fromkeys(logged, 1)


async def snapshot(client: Client) -> tuple[dict[str, Any], list[bytes]]:
    inbox, chunks, done = client.new_inbox(), [], asyncio.Event()

    async def take(message: Msg) -> None:
        if message.data:
            chunks.append(message.data)
        else:
            done.set()
        if message.reply:
            await message.respond(b"")

    await client.subscribe(inbox, cb=take)
    backup = await request(client, "STREAM.SNAPSHOT.ORDERS", {"deliver_subject": inbox})
    await asyncio.wait_for(done.wait(), 20)
    return backup, chunks


async def restore(client: Client, backup: dict[str, Any], chunks: list[bytes]) -> None:
    response = await request(client, "STREAM.RESTORE.ORDERS",
                       {"config": backup["config"], "state": backup["state"]})  # fmt: skip
    for chunk in [*chunks, b""]:
        await client.request(response["deliver_subject"], chunk, timeout=20)


async def test_delivery_events_reach_only_the_account(nats_server: NatsServer) -> None:
    async with (
        connected(nats_server) as client,
        listening(nats_server) as listener,
        listening(nats_server, SYS, of_system_account=True) as system,
    ):
        orders = await make_orders(client)
        await publish(client, 1)
        await (await fetch(orders, 1))[0].nak()
        await client.flush()
        counts = await all_received(listener.state, client, lambda seen: worker_of(seen).naks >= 1)
        # Servers send neither delivery advisories nor actions to the system account.
        assert system.state.counts().advisories == {}
    assert worker_of(counts).naks == 1


def deleted(least: int) -> Callable[[EventCounts], bool]:
    return lambda seen: seen.advisories.get(("APP", "consumer_deleted"), 0) >= least


async def test_the_kinds_by_which_a_changed_configuration_shows(nats_server: NatsServer) -> None:
    """ConfigurationChanged counts updated and deleted streams. A deleted consumer may be an ephemeral
    one whose client ended, as on every system; polls show deleted durable ones."""
    stream = {"name": "ORDERS", "subjects": ["orders.>"]}
    update = {"durable_name": "worker", "ack_policy": "explicit", "max_ack_pending": 7}
    ephemeral = {"ack_policy": "explicit", "inactive_threshold": 100_000_000}
    changes: tuple[tuple[str, dict[str, Any] | None], ...] = (
        ("STREAM.UPDATE.ORDERS", {**stream, "max_msgs": 9}),
        ("STREAM.UPDATE.ORDERS", {**stream, "max_msgs": 9}),
        ("CONSUMER.DURABLE.CREATE.ORDERS.worker", {"stream_name": "ORDERS", "config": update}),
        ("CONSUMER.DELETE.ORDERS.worker", None),
        ("CONSUMER.CREATE.ORDERS", {"stream_name": "ORDERS", "config": ephemeral}),
        ("STREAM.DELETE.ORDERS", None),
    )
    found: list[set[str]] = []
    async with connected(nats_server) as client, listening(nats_server) as listener:
        await make_orders(client)
        before = (await all_received(listener.state, client, lambda _: True)).advisories
        for subject, body in changes:
            await request(client, subject, body)
            least = 2 if subject == "CONSUMER.CREATE.ORDERS" else 0  # it expires
            seen = (await all_received(listener.state, client, deleted(least))).advisories
            grown = {key for key, number in seen.items() if number != before.get(key, 0)}
            found.append({kind for _, kind in grown} - {"stream_created"})  # the end mark
            before = seen
    assert found == [
        {"stream_updated"},
        {"stream_updated"},  # nothing changed
        set(),  # an updated consumer sends none
        {"consumer_deleted"},
        {"consumer_created", "consumer_deleted"},
        {"stream_deleted"},
    ]
