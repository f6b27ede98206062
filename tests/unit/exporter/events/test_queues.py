"""The queues of all event subscriptions share a part of the memory limit; what they drop is counted."""

from __future__ import annotations

import asyncio

from nats.errors import SlowConsumerError

from exporter.events.ack_samples import AckSample
from exporter.events.connection import MOST_BYTES
from exporter.events.session import EventSession
from exporter.events.subscriptions import SourceInfo, make_event_session
from exporter.settings.events import EventSettings
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.credentials import NatsAccess

MIB = 1024**2


def session() -> EventSession:
    access = NatsAccess(("nats://127.0.0.1:1",))
    source = SourceInfo("nats", "account", access, NatsConnection(access, "test"))
    made = make_event_session(EventSettings(), source)
    assert made is not None
    return made


def queues(made: EventSession) -> list[tuple[int, int]]:
    return [
        (each.most_bytes, each.most_messages)
        for connection in made.connections
        for each in connection.wanted
    ]


def test_all_queues_together_keep_an_eighth_of_the_memory() -> None:
    made = session()
    made.fit_into(240 * MIB)
    assert queues(made) == [(10 * MIB, 10 * 1024)] * 3


def test_without_a_memory_limit_each_queue_keeps_64_mib() -> None:
    made = session()
    made.fit_into(None)
    assert {most for most, _ in queues(made)} <= {MOST_BYTES}


async def test_what_a_queue_drops_is_counted_and_told() -> None:
    made = session()
    [listener] = made.listeners
    error = SlowConsumerError("some.>", "", 1, None)  # type: ignore[arg-type]
    for _ in range(3):
        await listener.connection._on_error(error)
    assert made.connection_state().dropped == 3
    assert "3 events dropped: they came faster than they were read" in made.problems()


async def test_other_tasks_run_while_many_consumers_are_counted() -> None:
    made = session()
    for number in range(5_000):
        made.state.record_ack(AckSample("ORDERS", f"c{number}", 0.1))
    counting = asyncio.create_task(made.counts())
    turns = 0
    while not counting.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 4
    assert counting.result().consumers == made.state.counts().consumers
    assert len(counting.result().consumers) == 5_000
