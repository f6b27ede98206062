"""A consumer that reports what it reported before keeps its row: the same object."""

from typing import Any

import pytest
from support.exporter.models import NOW, at

from exporter.model import Consumer
from exporter.sources.decoding.wire import (
    WireCluster,
    WireConsumer,
    WireConsumerConfig,
    WirePeer,
    WireSequence,
    WireState,
    WireStream,
)
from exporter.sources.decoding.wire_servers import WireAccountDetail
from exporter.sources.filters import Filters
from exporter.sources.servers.known_rows import KnownRows
from exporter.sources.servers.leaders import ConfigCache, LeaderRows

CREATED = at(NOW - 4000)


def worker(name: str = "worker", **values: Any) -> WireConsumer:
    usual = {"created": CREATED, "delivered": WireSequence(7, 9, at(NOW)), "num_pending": 3}
    return WireConsumer(name=name, stream_name="ORDERS", **usual | values)


def configured(**values: Any) -> WireConsumerConfig:
    return WireConsumerConfig(durable_name="worker", ack_policy="explicit", **values)


class Polls:
    def __init__(self) -> None:
        self.configs, self.known = ConfigCache(), KnownRows()

    def poll(self, *consumers: WireConsumer, first_seq: int = 1) -> list[Consumer]:
        self.known.start_poll(self.configs.changes)
        rows = LeaderRows(self.configs, Filters(), self.known)
        stream = WireStream("ORDERS", CREATED, state=WireState(first_seq=first_seq))
        stream.consumer_detail = list(consumers)
        rows.add("n1", [WireAccountDetail("APP", stream_detail=[stream])])
        return list(rows.consumers())


@pytest.fixture
def polls() -> Polls:
    """After the configuration was read, and once more."""
    made = Polls()
    made.poll(worker(config=configured(max_deliver=5)))
    made.poll(worker())
    return made


def test_a_row_without_changes_is_the_same_object(polls: Polls) -> None:
    (before,) = polls.poll(worker())
    (row,) = polls.poll(worker())
    assert row is before
    assert row.config is not None
    assert row.config.max_deliver == 5


@pytest.mark.parametrize(
    "change",
    [
        {"delivered": WireSequence(8, 9, at(NOW))},
        {"delivered": WireSequence(7, 10, at(NOW))},
        {"delivered": WireSequence(7, 9, at(NOW + 1))},
        {"ack_floor": WireSequence(1, 0)},
        {"ack_floor": WireSequence(0, 1)},
        {"ack_floor": WireSequence(0, 0, at(NOW))},
        {"num_pending": 4},
        {"num_ack_pending": 1},
        {"num_redelivered": 1},
        {"num_waiting": 1},
        {"push_bound": True},
        {"paused": True, "pause_remaining": 5_000_000_000},
        {"cluster": WireCluster(leader="n1", replicas=[WirePeer("n2", lag=4)])},
        {"created": at(NOW - 10)},
    ],
)
def test_each_change_shows_and_so_does_the_way_back(polls: Polls, change: dict[str, Any]) -> None:
    (before,) = polls.poll(worker())
    (changed,) = polls.poll(worker(**change))
    assert changed != before
    (row,) = polls.poll(worker())
    assert (row.delivered_consumer_seq, row.num_pending, row.paused) == (7, 3, False)
    assert (row.created, row.replicas, row.push_bound) == (CREATED, (), False)


def test_a_first_sequence_that_moved_shows(polls: Polls) -> None:
    assert [row.stream_first_seq for row in polls.poll(worker(), first_seq=6)] == [6]


def test_a_changed_configuration_shows_at_once_and_stays(polls: Polls) -> None:
    (row,) = polls.poll(worker(config=configured(max_deliver=9)))
    assert row.config is not None
    assert row.config.max_deliver == 9
    (later,) = polls.poll(worker())
    assert later.config is row.config


def test_a_recreated_consumer_loses_its_configuration(polls: Polls) -> None:
    (row,) = polls.poll(worker(created=at(NOW - 10)))
    assert row.config is None
    assert polls.configs.unknown == {"APP"}


def test_rows_that_change_places_are_not_confused(polls: Polls) -> None:
    polls.poll(worker("one"), worker("two", num_pending=8))
    rows = polls.poll(worker("two", num_pending=8), worker("one"))
    assert {row.name: row.num_pending for row in rows} == {"one": 3, "two": 8}
    assert [row.name for row in polls.poll(worker("two"))] == ["two"]
