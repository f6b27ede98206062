"""Publishes received and not stored, acks and pulls: what is exported equals what was done."""

import asyncio
import json
from contextlib import suppress
from typing import Final

import aiohttp
import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from support.exporter.source_polls import api, create_consumer, create_stream
from support.nats.servers import (
    APP,
    NEWEST,
    OLDEST,
    OTHER,
    Account,
    NatsCluster,
    NatsServer,
    User,
    connected,
    default_options,
)
from support.signals.publish_accounting import ACCOUNT, accounting, publish
from support.waiting import until

from exporter.signals.publishes.engine import ConsumerReplies, StreamPublishes, TapCounts
from exporter.sources.subsz.reader import CEILING

WAYS: Final = pytest.mark.parametrize("how", ["system", "monitor"])


def counted(received: int, unstored: int) -> StreamPublishes:
    """Without a tap what was not stored counts as duplicates."""
    return StreamPublishes(received, unstored, unstored, 0)


async def fetch(client: Client, stream: str, consumer: str, number: int) -> list[Msg]:
    subscription = await client.jetstream().pull_subscribe_bind(consumer, stream=stream)
    messages = await subscription.fetch(number, timeout=10)
    await subscription.unsubscribe()
    return messages


@WAYS
async def test_duplicates_and_rejections_are_received_and_not_stored(
    nats_server: NatsServer, how: str
) -> None:
    async with connected(nats_server) as client:
        await create_stream(client, "ORDERS", subjects=["orders.>", "returns"])
        await create_stream(client, "SMALL", max_msg_size=300)
        await create_stream(client, "FULL", max_msgs=3, discard="new")
        await publish(client, "orders.before", 5, ids=2)
        async with accounting(nats_server, how) as watched:
            await publish(client, "orders.new", 100, ids=40)
            await publish(client, "returns", 7)
            refused = [
                *await publish(client, "small", 2, Nats_Expected_Last_Sequence="77"),
                *await publish(client, "small", 1, Nats_Expected_Stream="ORDERS"),
                *await publish(client, "small", 1, Padding="x" * 400),
                *(await publish(client, "full", 5))[3:],
            ]
            await publish(client, "small", 4)
            assert all("error" in ack for ack in refused)
            streams = (await watched.signals()).streams
            assert streams[ACCOUNT, "ORDERS"] == counted(107, 62)
            assert streams[ACCOUNT, "SMALL"] == counted(8, 4)
            assert streams[ACCOUNT, "FULL"] == counted(5, 2)


@WAYS
async def test_every_response_to_a_delivery_and_every_pull_is_counted(
    nats_server: NatsServer, how: str
) -> None:
    async with connected(nats_server) as client:
        await create_stream(client, "ORDERS")
        await create_consumer(client, "ORDERS", "worker")
        await create_consumer(client, "ORDERS", "silent", ack_policy="none")
        await create_consumer(client, "ORDERS", "pushed", deliver_subject="nowhere")
        await publish(client, "orders", 20)
        await (await fetch(client, "ORDERS", "worker", 1))[0].ack_sync()
        async with accounting(nats_server, how) as watched:
            messages = await fetch(client, "ORDERS", "worker", 17)
            for message in messages[:10]:
                await message.ack()
            for message in messages[10:13]:
                await message.nak(delay=3600)
            for message in messages[13:15]:
                await message.in_progress()
            for message in messages[15:]:
                await message.term()
            await client.flush()
            await fetch(client, "ORDERS", "silent", 2)
            consumers = (await watched.signals()).consumers
            assert consumers[ACCOUNT, "ORDERS", "worker"] == ConsumerReplies(17, 1)
            assert consumers[ACCOUNT, "ORDERS", "silent"] == ConsumerReplies(None, 1)
            assert consumers[ACCOUNT, "ORDERS", "pushed"] == ConsumerReplies(0, None)


async def test_what_is_made_after_the_start_counts_from_its_beginning(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, accounting(nats_server) as watched:
        await create_stream(client, "LATE")
        await create_consumer(client, "LATE", "worker")
        await publish(client, "late", 6, ids=4)
        await fetch(client, "LATE", "worker", 2)
        signals = await watched.signals()
        assert signals.streams[ACCOUNT, "LATE"] == counted(6, 2)
        assert signals.consumers[ACCOUNT, "LATE", "worker"] == ConsumerReplies(0, 1)


@WAYS
async def test_clients_on_the_same_subjects_are_distinguished(
    nats_server: NatsServer, how: str
) -> None:
    async with connected(nats_server) as client, connected(nats_server) as listener:
        await create_stream(client, "ORDERS", subjects=["orders.>", "returns"], allow_direct=True)
        await create_stream(client, "TWIN")
        for subject in ("orders.>", "returns", "twin"):
            await listener.subscribe(subject)
            await listener.subscribe(subject, queue="workers")
        await listener.flush()
        async with connected(nats_server) as plain, accounting(nats_server, how) as watched:
            # Nothing but the subject itself: only its number in the list of clients shows it.
            await plain.subscribe("twin")
            await plain.flush()
            await publish(client, "orders.new", 6, ids=4)
            await publish(client, "twin", 5, ids=3)
            streams = (await watched.signals()).streams
            assert streams[ACCOUNT, "ORDERS"] == counted(6, 2)
            assert streams[ACCOUNT, "TWIN"] == counted(5, 2)
        await publish(client, "twin", 1)
        async with accounting(nats_server, how) as later, connected(nats_server) as loud:
            await loud.subscribe("twin")
            for _ in range(9):
                await loud.publish("twin", b"")
            await loud.flush()
            assert await later.stream("TWIN") == counted(9, 0)


async def test_recreated_streams_and_consumers_go_on_from_where_they_were(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client:
        await create_stream(client, "ORDERS")
        await create_consumer(client, "ORDERS", "worker")
        await publish(client, "orders", 50)
        async with accounting(nats_server) as watched:
            await publish(client, "orders", 4, ids=3)
            await fetch(client, "ORDERS", "worker", 1)
            assert await watched.stream("ORDERS") == counted(4, 1)
            # `created` says that it is another only when it moved by more than a second.
            await asyncio.sleep(1.1)
            await api(client, "STREAM.DELETE.ORDERS")
            await create_stream(client, "ORDERS")
            await create_consumer(client, "ORDERS", "worker")
            await publish(client, "orders", 10, ids=3)
            await fetch(client, "ORDERS", "worker", 1)
            signals = await watched.signals()
            assert signals.streams[ACCOUNT, "ORDERS"] == counted(14, 8)
            assert signals.consumers[ACCOUNT, "ORDERS", "worker"].pulls == 2


async def test_a_purge_and_new_subjects_disturb_nothing(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client:
        await create_stream(client, "ORDERS")
        await publish(client, "orders", 10)
        async with accounting(nats_server) as watched:
            await publish(client, "orders", 4, ids=3)
            await api(client, "STREAM.PURGE.ORDERS", {"seq": 1000})
            await publish(client, "orders", 2, Nats_Expected_Stream="NOT_ME")
            # The purge moved the sequence, as no publish did: for once less is seen than happened.
            assert (await watched.stream("ORDERS")).received == 6
            changed = {"name": "ORDERS", "subjects": ["orders", "more"], "storage": "memory"}
            await api(client, "STREAM.UPDATE.ORDERS", changed)
            await publish(client, "more", 5, Nats_Expected_Stream="NOT_ME")
            after = await watched.stream("ORDERS")
            assert after.received == 11
            assert after.unstored == 5


async def test_a_restarted_server_begins_a_new_count(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client:
        await create_stream(client, "ORDERS", storage="file")
        await create_consumer(client, "ORDERS", "worker")
        await publish(client, "orders", 10)
    async with accounting(nats_server) as watched:
        async with connected(nats_server) as client:
            await publish(client, "orders", 10, ids=4)
        assert await watched.stream("ORDERS") == counted(10, 6)
        await nats_server.restart()
        async with connected(nats_server) as client:
            await publish(client, "orders", 5)
            await fetch(client, "ORDERS", "worker", 1)
            watched.snapshot = None
            signals = await watched.signals()
            assert signals.streams[ACCOUNT, "ORDERS"] == counted(15, 6)
            assert signals.consumers[ACCOUNT, "ORDERS", "worker"].pulls == 1
            await publish(client, "orders", 8, ids=2)
            # The ids of before are still known: the store keeps them.
            assert await watched.stream("ORDERS") == counted(23, 14)


@pytest.mark.timeout(180)
@WAYS
async def test_counts_follow_the_leaders_of_a_cluster(nats_cluster: NatsCluster, how: str) -> None:
    async with connected(nats_cluster) as client:
        await create_stream(client, "ORDERS", num_replicas=3, storage="file")
        await create_consumer(client, "ORDERS", "worker")
    async with connected(await listening(nats_cluster, "orders")) as client:
        await publish(client, "orders", 30, ids=20)
    async with accounting(nats_cluster, how) as watched:
        async with connected(await listening(nats_cluster, "orders")) as client:
            await publish(client, "orders", 100, ids=40)
        assert await watched.stream("ORDERS") == counted(100, 80)
        await nats_cluster.step_down_stream(APP, "ORDERS")
        await nats_cluster.step_down_consumer(APP, "ORDERS", "worker")
        async with connected(await listening(nats_cluster, "orders")) as client:
            await publish(client, "orders", 50, ids=50)
        pulls = "$JS.API.CONSUMER.MSG.NEXT.ORDERS.worker"
        async with connected(await listening(nats_cluster, pulls)) as client:
            for message in await fetch(client, "ORDERS", "worker", 5):
                await message.ack_sync()
        signals = await watched.signals()
        assert signals.streams[ACCOUNT, "ORDERS"] == counted(150, 120)
        assert signals.consumers[ACCOUNT, "ORDERS", "worker"] == ConsumerReplies(5, 1)
        await nats_cluster.step_down_stream(APP, "ORDERS")
        async with connected(await listening(nats_cluster, "orders")) as client:
            lost = 3 - await succeeded(client, "orders", 3)
        assert await watched.stream("ORDERS") == counted(153, 120 + lost)


async def succeeded(client: Client, subject: str, number: int) -> int:
    """How many of them the server acknowledged: 2.9 drops what a third leader gets, without a response."""
    acks = 0
    for _ in range(number):
        with suppress(nats.errors.TimeoutError):
            await client.request(subject, b"x", timeout=2)
            acks += 1
    return acks


async def listening(cluster: NatsCluster, subject: str) -> NatsServer:
    """The node that leads what listens there; what is sent to another one may come too early."""

    async def who() -> list[NatsServer]:
        return [node for node in cluster.nodes if subject in await subscribed(node)]

    return (await until(who, lambda nodes: len(nodes) == 1, f"none or two subscribe to {subject}"))[
        0
    ]


async def subscribed(node: NatsServer) -> set[str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{node.monitor_url}/subsz?subs=1&acc={ACCOUNT}") as response,
    ):
        rows = (await response.json(content_type=None)).get("subscriptions_list") or []
    return {row["subject"] for row in rows}


async def test_the_tap_makes_duplicates_exact_in_the_same_counter(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client:
        await create_stream(client, "ORDERS")
        async with accounting(nats_server) as watched:
            await publish(client, "orders", 5, ids=3)
            assert await watched.stream("ORDERS") == counted(5, 2)
            events = {(ACCOUNT, "ORDERS"): 1}
            watched.tap = TapCounts(frozenset({ACCOUNT}), events)
            await publish(client, "orders", 1, ids=1)
            await publish(client, "orders", 4, Nats_Expected_Stream="NOT_ME")
            assert await watched.stream("ORDERS") == StreamPublishes(10, 7, 3, 1)
            watched.tap = None
            await publish(client, "orders", 1, ids=1)
            assert await watched.stream("ORDERS") == StreamPublishes(11, 8, 4, 0)


async def test_sources_mirrors_and_republished_messages(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client:
        await create_stream(client, "UP", subjects=["up"], republish={"src": "up", "dest": "again"})
        await create_stream(client, "AGAIN")
        await create_stream(client, "JOIN", sources=[{"name": "UP"}])
        await create_stream(client, "COPY", subjects=[], mirror={"name": "UP"})
        async with accounting(nats_server) as watched:
            await publish(client, "up", 5, ids=3)
            await publish(client, "join", 2)
            streams = (await watched.signals()).streams
            assert streams[ACCOUNT, "UP"] == counted(5, 2)
            # What the other stream sends on is what it stored.
            assert streams[ACCOUNT, "AGAIN"] == counted(3, 0)
            assert streams[ACCOUNT, "JOIN"] == StreamPublishes(2)
            assert streams[ACCOUNT, "COPY"] == StreamPublishes()


SHARING: Final = (
    Account(
        "APP", (User("app", "app"),), extra=('exports: [{stream: "shared.>"}, {service: "svc"}]',)
    ),
    Account(
        "OTHER",
        (User("other", "other"),),
        extra=(
            'imports: [{stream: {account: APP, subject: "shared.>"}, to: "from.app.>"},'
            ' {service: {account: APP, subject: "svc"}}]',
        ),
    ),
    Account("SYS", (User("sys", "sys"),), jetstream=False),
)


@WAYS
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
async def test_what_comes_from_another_account_counts(version: str, how: str) -> None:
    async with (
        NatsServer(version, default_options(accounts=SHARING)) as server,
        connected(server) as client,
        connected(server, OTHER) as other,
    ):
        await create_stream(client, "SHARED", subjects=["shared.>"])
        await create_stream(client, "SVC", subjects=["svc"])
        await create_stream(other, "INTAKE", subjects=["from.>"])
        async with accounting(server, how) as watched:
            # With so low a ceiling each account is requested alone; and back again.
            for times, ceiling in enumerate((CEILING, 60, 60, CEILING), start=1):
                watched.reader.ceiling = ceiling
                await publish(client, "shared.x", 7)
                await publish(other, "from.here", 3)
                await publish(other, "svc", 4)
                streams = (await watched.signals()).streams
                assert streams["APP", "SHARED"] == counted(7 * times, 0)
                assert streams["OTHER", "INTAKE"] == counted(10 * times, 0)
                assert streams["APP", "SVC"] == counted(4 * times, 0)
                assert watched.measurement is not None
                assert not watched.measurement.over_ceiling


async def test_a_transform_of_the_stream_changes_nothing() -> None:
    async with (
        NatsServer(NEWEST, default_options()) as server,
        connected(server) as client,
    ):
        transform = {"src": "in.>", "dest": "out.>"}
        await create_stream(client, "TURNED", subjects=["in.>"], subject_transform=transform)
        async with accounting(server) as watched:
            await publish(client, "in.a", 6, ids=4)
            assert await watched.stream("TURNED") == counted(6, 2)


async def test_atomic_batches_count_by_message_and_their_end_mark_as_not_stored() -> None:
    async with NatsServer(NEWEST, default_options()) as server, connected(server) as client:
        await create_stream(client, "BATCH", allow_atomic=True)

        async def send(batch: str, first: int, last: int, end: str = "") -> dict[str, object]:
            for place in range(first, last):
                await client.publish("batch", b"x", headers=_in_batch(batch, place))
            commit = {"Nats-Batch-Commit": end} if end else {}
            headers = _in_batch(batch, last) | commit
            message = await client.request("batch", b"x", headers=headers, timeout=10)
            found: dict[str, object] = json.loads(message.data) if message.data else {}
            return found

        async with accounting(server) as watched:
            assert (await send("whole", 1, 5, "1"))["count"] == 5
            assert await watched.stream("BATCH") == counted(5, 0)
            assert (await send("marked", 1, 4, "eob"))["count"] == 3
            assert await watched.stream("BATCH") == counted(9, 1)
            for place in (1, 2):
                await client.publish("batch", b"x", headers=_in_batch("gap", place))
            assert "error" in await send("gap", 9, 9, "1")
            assert await watched.stream("BATCH") == counted(12, 4)
            # A batch under way is received and not stored: no reason to count it as lost.
            for place in (1, 2, 3):
                await client.publish("batch", b"x", headers=_in_batch("slow", place))
            await client.flush()
            await watched.poll()
            assert (await send("slow", 4, 4, "1"))["count"] == 4
            assert await watched.stream("BATCH") == counted(16, 4)


def _in_batch(batch: str, place: int) -> dict[str, str]:
    return {"Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(place)}


async def test_fast_batches_count_by_message_and_their_pings_as_not_stored() -> None:
    async with NatsServer(NEWEST, default_options()) as server, connected(server) as client:
        await create_stream(client, "FAST", allow_batched=True)
        inbox = client.new_inbox()
        acks = await client.subscribe(f"{inbox}.>")

        async def send(batch: str, *steps: tuple[int, int]) -> None:
            for place, operation in steps:
                reply = f"{inbox}.{batch}.100.fail.{place}.{operation}.$FI"
                await client.publish("fast", b"x", reply=reply)
            while b'"batch"' not in (await acks.next_msg(timeout=10)).data:
                pass

        start, append, commit, end, ping = range(5)
        async with accounting(server) as watched:
            await send("a", (1, start), (2, append), (2, ping), (3, commit))
            assert await watched.stream("FAST") == counted(4, 1)
            await send("b", (1, start), (2, append), (3, end))
            assert await watched.stream("FAST") == counted(7, 2)


async def test_a_listener_must_receive_exhausted_messages(nats_server: NatsServer) -> None:
    advisory = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"
    async with connected(nats_server) as client, connected(nats_server) as listener:
        await create_stream(client, "ORDERS")
        for name in ("kept", "received", "lost"):
            await create_consumer(client, "ORDERS", name, max_deliver=3)
        await create_consumer(client, "ORDERS", "patient")
        await create_stream(client, "DEAD", subjects=[f"{advisory}.ORDERS.kept"])
        await listener.subscribe(f"{advisory}.*.received", queue="q")
        await listener.flush()
        async with accounting(nats_server) as watched:
            consumers = (await watched.signals()).consumers
            captured = {key[2]: row.dead_letter_captured for key, row in consumers.items()}
            assert captured == {"kept": 1, "received": 1, "lost": 0, "patient": None}
