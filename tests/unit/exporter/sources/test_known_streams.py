"""A stream that reports what it reported before keeps its row: the same object."""

from typing import Any

import pytest
from msgspec.structs import replace
from support.exporter.models import NOW, at

from exporter.model import Stream
from exporter.sources.decoding.wire import (
    WireCluster,
    WireLost,
    WireOrigin,
    WirePeer,
    WireState,
    WireStream,
    WireStreamConfig,
)
from exporter.sources.decoding.wire_servers import WireAccountDetail
from exporter.sources.filters import Filters
from exporter.sources.servers.known_rows import KnownRows
from exporter.sources.servers.leaders import ConfigCache, LeaderRows

STATE = WireState(10, 500, 3, at(NOW - 60), 12, at(NOW - 5), 2, 1, 4)
PLAIN = WireStream("ORDERS", at(NOW - 4000), state=STATE)


class Polls:
    def __init__(self) -> None:
        self.configs, self.known = ConfigCache(), KnownRows()

    def poll(self, wire: WireStream = PLAIN, *others: str) -> Stream:
        """`others`: servers that list the same stream."""
        self.known.start_poll(self.configs.changes)
        rows = LeaderRows(self.configs, Filters(), self.known)
        for server in ("n1", *others):
            rows.add(server, [WireAccountDetail("APP", stream_detail=[wire])])
        (row,) = rows.streams()
        return row


def test_an_unchanged_stream_keeps_its_row_also_when_its_configuration_is_read_again() -> None:
    polls = Polls()
    with_config = replace(PLAIN, config=WireStreamConfig("ORDERS", max_bytes=1000))
    first = polls.poll(with_config)
    assert polls.poll() is first
    assert polls.poll(with_config) is first
    other = polls.poll(replace(PLAIN, config=WireStreamConfig("ORDERS", max_bytes=2000)))
    assert (other is first, other.config and other.config.max_bytes) == (False, 2000)


def test_an_empty_stream_keeps_its_row() -> None:
    polls, empty = Polls(), WireStream("ORDERS", at(NOW), state=WireState(first_ts=at(NOW)))
    assert polls.poll(empty) is polls.poll(empty)


@pytest.mark.parametrize(
    "change",
    [
        {"state": replace(STATE, messages=9)},
        {"state": replace(STATE, bytes=501)},
        {"state": replace(STATE, first_seq=4)},
        {"state": replace(STATE, first_ts=at(NOW - 59))},
        {"state": replace(STATE, last_seq=13)},
        {"state": replace(STATE, last_ts=at(NOW - 4))},
        {"state": replace(STATE, num_subjects=3)},
        {"state": replace(STATE, num_deleted=2)},
        {"state": replace(STATE, consumer_count=5)},
        {"state": replace(STATE, lost=WireLost([7]))},
        {"created": at(NOW - 3000)},
        {"cluster": WireCluster(leader="n1", raft_group="S-R3")},
        {"cluster": WireCluster(leader="n1", replicas=[WirePeer("n2")])},
        {"mirror": WireOrigin("SOURCE", 7)},
        {"sources": [WireOrigin("SOURCE", 7)]},
    ],
)
def test_any_change_makes_the_row_that_a_first_poll_would_make(change: dict[str, Any]) -> None:
    polls, changed = Polls(), replace(PLAIN, **change)
    first = polls.poll()
    assert polls.poll(changed) == Polls().poll(changed) != first
    assert polls.poll() == first


def test_the_counts_of_followers_and_a_time_without_leader_are_not_kept() -> None:
    polls, led = Polls(), replace(PLAIN, cluster=WireCluster(leader="n1"))
    alone = polls.poll(led)
    assert polls.poll(led, "n2").follower_messages == (("n2", 10),)
    assert polls.poll(led).follower_messages == ()
    assert not polls.poll(replace(PLAIN, cluster=WireCluster(leader=""))).up
    assert polls.poll(led) == alone
