"""The whole poller, built from settings: events, counts and exact requests reach /metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from nats.aio.client import Client
from nats.js.client import JetStreamContext
from nats.js.errors import APIError
from support.exporter.event_listeners import request
from support.exporter.full_poller import polled, whole_poller
from support.exporter.rendered_series import Key
from support.nats.servers import APP, SYS, NatsServer, connected
from support.waiting import until

from exporter.polling.loop import SystemPoller
from exporter.settings.config import ExactSettings, PublishSettings, SourceName, SystemSettings
from exporter.settings.events import EventAccountSettings, EventSettings, PublishAckTapSettings
from exporter.signals.publishes.engine import UNCHANGED_AFTER_SECONDS
from streamgauge.serving.settings.loader import Secret

APP_PASSWORD = Secret(APP.password)
each_source = pytest.mark.parametrize("source", ["account", "system", "monitor"])


def settings_for(server: NatsServer, source: SourceName, *, tap: bool) -> SystemSettings:
    """Everything switched on that the source can have."""
    beside = EventAccountSettings(
        urls=(server.url,), user=APP.user, password=APP_PASSWORD, name="APP"
    )
    login = {"account": APP, "system": SYS}.get(source)
    return SystemSettings(
        source=source,
        urls=(server.monitor_url if source == "monitor" else server.url,),
        user=login.user if login else "",
        password=Secret(login.password) if login else None,
        account="APP" if source == "account" else None,
        publishes=PublishSettings(interval=_seconds_between_polls(server, source)),
        config_interval=1.0,
        exact=ExactSettings(lag=True),
        events=EventSettings(
            account=None if source == "account" else beside,
            publish_ack_tap=PublishAckTapSettings(enabled=tap),
        ),
    )  # fmt: skip


def _seconds_between_polls(server: NatsServer, source: SourceName) -> float:
    """At every poll, but for servers that do not report their queues: there a stream must be idle."""
    knows_queues = source == "monitor" or not server.version.startswith("2.9.")
    return 0.0 if knows_queues else UNCHANGED_AFTER_SECONDS + 1


@asynccontextmanager
async def polling(
    server: NatsServer, source: SourceName, *, tap: bool
) -> AsyncIterator[tuple[SystemPoller, Client]]:
    """With a first poll before anything exists, so that all of it is known from its birth."""
    async with whole_poller(settings_for(server, source, tap=tap)) as poller:
        await polled(poller)
        async with connected(server, APP) as client:
            yield poller, client


async def make_orders(client: Client) -> JetStreamContext:
    await request(client, "STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["orders.>"]})
    config = {"durable_name": "worker", "ack_policy": "explicit", "sample_freq": "100",
              "max_deliver": 2, "ack_wait": 60_000_000_000}  # fmt: skip
    await request(client, "CONSUMER.DURABLE.CREATE.ORDERS.worker",
              {"stream_name": "ORDERS", "config": config})  # fmt: skip
    return client.jetstream(timeout=20)


async def publish(jetstream: JetStreamContext) -> None:
    """Six stored, two duplicates, one refused."""
    for number in range(6):
        await jetstream.publish("orders.new", b"x", headers={"Nats-Msg-Id": str(number)})
    for number in range(2):
        await jetstream.publish("orders.new", b"x", headers={"Nats-Msg-Id": str(number)})
    with pytest.raises(APIError):
        await jetstream.publish("orders.new", b"x", headers={"Nats-Expected-Last-Sequence": "77"})


async def work(jetstream: JetStreamContext) -> None:
    """Of six deliveries one is acked, one refused, one ended; the refused one comes again."""
    puller = await jetstream.pull_subscribe("orders.>", "worker")
    first, second, third, *_ = await puller.fetch(6, timeout=20)
    await first.ack_sync(timeout=20)
    await second.nak()
    await third.term()
    (again,) = await puller.fetch(1, timeout=20)
    assert again.metadata.num_delivered == 2


def of_stream(name: str, **more: str) -> Key:
    labels = {"system": "nats", "account": "APP", "stream": "ORDERS", **more}
    return f"streamgauge_stream_{name}", tuple(sorted(labels.items()))


def of_consumer(name: str, **more: str) -> Key:
    labels = {"system": "nats", "account": "APP", "stream": "ORDERS", "consumer": "worker", **more}
    return f"streamgauge_consumer_{name}", tuple(sorted(labels.items()))


async def until_shown(poller: SystemPoller, wanted: dict[Key, float]) -> dict[Key, float]:
    everything: dict[Key, float] = {}

    async def shown() -> dict[Key, float | None]:
        everything.update(await polled(poller))
        return {key: everything.get(key) for key in wanted}

    await until(shown, lambda seen: seen == wanted, f"not shown: {wanted}")
    assert not poller.state.problems
    return everything


@each_source
async def test_with_the_tap_duplicates_and_rejections_are_counted_apart(
    nats_server: NatsServer, source: SourceName
) -> None:
    async with polling(nats_server, source, tap=True) as (poller, client):
        await publish(await make_orders(client))
        wanted: dict[Key, float] = {
            of_stream("dedupe_hits_total"): 2,
            of_stream("dedupe_exact"): 1,
            of_stream("publish_rejections_total", code="10071"): 1,
        }
        if source != "account":
            wanted[of_stream("publishes_received_total")] = 9
            wanted[of_stream("publishes_unstored_total")] = 3
        await until_shown(poller, wanted)


@pytest.mark.parametrize("source", ["system", "monitor"])
async def test_without_the_tap_what_was_not_stored_is_the_bound(
    nats_server: NatsServer, source: SourceName
) -> None:
    async with polling(nats_server, source, tap=False) as (poller, client):
        await publish(await make_orders(client))
        found = await until_shown(
            poller, {of_stream("dedupe_hits_total"): 3, of_stream("dedupe_exact"): 0}
        )
    assert not [name for name, _ in found if name == "streamgauge_stream_publish_rejections_total"]


@each_source
async def test_acks_naks_and_terms_of_consumers_are_counted(
    nats_server: NatsServer, source: SourceName
) -> None:
    async with polling(nats_server, source, tap=False) as (poller, client):
        jetstream = await make_orders(client)
        await polled(poller)
        await publish(jetstream)
        await work(jetstream)
        wanted: dict[Key, float] = {
            of_consumer("naks_total"): 1,
            of_consumer("ack_seconds_count"): 1,
            of_consumer("redeliveries_total"): 1,
            of_consumer("redelivery_cause"): 2,  # refused
            of_consumer("lag_exact"): 1,
            of_consumer("blocking_stream_seq"): 2,
        }
        if source == "account":  # elsewhere the configuration came too late to be sure
            wanted[of_consumer("redelivery_exact")] = 1
        else:
            wanted[of_consumer("acks_total")] = 3
            wanted[of_consumer("dead_letter_captured")] = 0
        found = await until_shown(poller, wanted)
    ended = [key for key in found if key[0] == "streamgauge_consumer_terms_total"]
    assert [found[key] for key in ended] == [1]


@each_source
async def test_a_deleted_consumer_takes_its_events_along(
    nats_server: NatsServer, source: SourceName
) -> None:
    async with polling(nats_server, source, tap=False) as (poller, client):
        jetstream = await make_orders(client)
        await publish(jetstream)
        await work(jetstream)
        await until_shown(poller, {of_consumer("naks_total"): 1})
        await request(client, "CONSUMER.DELETE.ORDERS.worker")
        await until(lambda: polled(poller), lambda seen: not _of_worker(seen), "it is still there")
        assert poller.event_session is not None
        await polled(poller)
        assert (await poller.event_session.counts()).consumers == {}


def _of_worker(found: dict[Key, float]) -> list[Key]:
    return [key for key in found if ("consumer", "worker") in key[1]]
