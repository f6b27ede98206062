"""The arithmetic between a snapshot and a scrape, with every expected number written out."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.samples import Sample
from support.exporter.models import (
    NOW,
    at,
    consumer,
    consumer_config,
    server,
    snapshot,
    stream,
    stream_config,
)
from support.exporter.rendered_series import rendered, samples_of, text_of, values_of

from exporter import catalog
from exporter.metric import Metric
from exporter.model import (
    Account,
    AccountUsage,
    Consumer,
    MetaGroup,
    OwnerNotes,
    Replica,
    Server,
    Stream,
    StreamOrigin,
    Thresholds,
)


def shown(*rows: Stream | Consumer | Server, **changes: Any) -> list[Sample]:
    return samples_of(text_of(rendered(snapshot(*rows, **changes))))


def value(metric: Metric, *rows: Stream | Consumer | Server, **labels: str) -> float | None:
    """The metric's only series among these labels; None when there is none."""
    found = values_of(shown(*rows), metric, **labels)
    assert len(found) <= 1
    return found[0] if found else None


def names(samples: list[Sample]) -> set[str]:
    return {sample.name for sample in samples}


# --- the ack floor --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "gap"),
    [
        pytest.param(
            {"num_ack_pending": 0, "delivered_stream_seq": 486, "ack_floor_stream_seq": 3}, 0,
            id="nothing is unacked, whatever the floor says",
        ),
        pytest.param(
            {"num_ack_pending": 3, "delivered_consumer_seq": 3, "delivered_stream_seq": 108}, 3,
            id="never acked: the deliveries, not the stream sequence",
        ),
        pytest.param(
            {"num_ack_pending": 2, "delivered_consumer_seq": 3, "delivered_stream_seq": 7,
             "ack_floor_consumer_seq": 1, "ack_floor_stream_seq": 3}, 4,
            id="stream sequences between floor and delivery",
        ),
        pytest.param(
            {"num_ack_pending": 2, "delivered_consumer_seq": 5, "delivered_stream_seq": 107,
             "ack_floor_consumer_seq": 1, "ack_floor_stream_seq": 3, "stream_first_seq": 101}, 7,
            id="what expired below the first message does not count",
        ),
        pytest.param(
            {"num_ack_pending": 2, "delivered_consumer_seq": 2, "delivered_stream_seq": 10,
             "ack_floor_stream_seq": 8, "stream_first_seq": 1}, 2,
            id="2.14 reports a floor before the first ack",
        ),
        pytest.param(
            {"num_ack_pending": 1, "delivered_consumer_seq": 5, "delivered_stream_seq": 50,
             "ack_floor_consumer_seq": 4, "ack_floor_stream_seq": 49, "stream_first_seq": 90}, 0,
            id="never below 0, when all of it was removed since",
        ),
    ],
)  # fmt: skip
def test_the_ack_floor_gap(state: dict[str, Any], gap: int) -> None:
    assert value(catalog.CONSUMER_ACK_FLOOR_GAP, consumer(**state)) == gap


@pytest.mark.parametrize(
    ("pending", "delivered", "floor", "gap"),
    [(0, 12, 3, 0), (2, 12, 3, 9), (1, 5, 0, 5), (1, 3, 4, 0)],
)
def test_the_gap_in_deliveries(pending: int, delivered: int, floor: int, gap: int) -> None:
    row = consumer(
        num_ack_pending=pending, delivered_consumer_seq=delivered, ack_floor_consumer_seq=floor
    )
    assert value(catalog.CONSUMER_ACK_FLOOR_GAP_DELIVERIES, row) == gap


@pytest.mark.parametrize(("most", "ratio"), [(40, 0.15), (4, 1.5), (None, None)])
def test_the_gap_ratio_is_a_share_of_max_ack_pending(most: int | None, ratio: float | None) -> None:
    row = consumer(
        num_ack_pending=3,
        delivered_consumer_seq=10,
        ack_floor_consumer_seq=4,
        config=consumer_config(max_ack_pending=most),
    )
    assert value(catalog.CONSUMER_ACK_FLOOR_GAP_RATIO, row) == ratio


@pytest.mark.parametrize(
    ("max_deliver", "redelivered", "unacked", "given_up"),
    [(5, 3, 0, 3), (5, 3, 2, 1), (5, 1, 4, 0), (2, 0, 0, 0), (1, 3, 0, None), (None, 3, 0, None)],
)
def test_exhausted_messages(
    max_deliver: int | None, redelivered: int, unacked: int, given_up: int | None
) -> None:
    row = consumer(
        num_redelivered=redelivered,
        num_ack_pending=unacked,
        config=consumer_config(max_deliver=max_deliver),
    )
    assert value(catalog.CONSUMER_EXHAUSTED_MESSAGES, row) == given_up


def test_the_backlog_is_what_waits_and_what_is_in_flight() -> None:
    row = consumer(num_pending=47, num_ack_pending=3)
    assert value(catalog.CONSUMER_BACKLOG_MESSAGES, row) == 50


@pytest.mark.parametrize(
    ("max_deliver", "backoff", "horizon"),
    [
        pytest.param(4, (), 90.0, id="three waits of ack_wait"),
        pytest.param(1, (), 0.0, id="no second delivery, no wait"),
        pytest.param(None, (), None, id="for ever"),
        pytest.param(3, (1.0, 5.0, 60.0, 600.0), 6.0, id="steps beyond the last delivery"),
        pytest.param(3, (1.0, 5.0), 6.0, id="as many steps as waits"),
        pytest.param(6, (1.0, 5.0), 21.0, id="the last step repeats"),
        pytest.param(1, (1.0, 5.0), 0.0, id="steps and no second delivery"),
    ],
)
def test_the_retry_horizon(
    max_deliver: int | None, backoff: tuple[float, ...], horizon: float | None
) -> None:
    config = consumer_config(max_deliver=max_deliver, backoff_seconds=backoff)
    assert value(catalog.CONSUMER_RETRY_HORIZON_SECONDS, consumer(config=config)) == horizon


@pytest.mark.parametrize(("backoff", "steps"), [((), None), ((1.0, 5.0), 2)])
def test_backoff_steps_are_absent_without_a_backoff(
    backoff: tuple[float, ...], steps: int | None
) -> None:
    row = consumer(config=consumer_config(backoff_seconds=backoff))
    assert value(catalog.CONSUMER_BACKOFF_STEPS, row) == steps


# --- absent, not zero -----------------------------------------------------------------------------


def test_an_unlimited_consumer_has_no_limit_series() -> None:
    unlimited = consumer_config(
        max_ack_pending=None, ack_wait_seconds=None, max_deliver=None, max_waiting=None
    )
    limits = {
        catalog.CONSUMER_MAX_ACK_PENDING.name,
        catalog.CONSUMER_ACK_WAIT_SECONDS.name,
        catalog.CONSUMER_MAX_DELIVER.name,
        catalog.CONSUMER_MAX_WAITING.name,
        catalog.CONSUMER_RETRY_HORIZON_SECONDS.name,
        catalog.CONSUMER_ACK_FLOOR_GAP_RATIO.name,
    }
    limited = consumer(config=consumer_config(max_deliver=3))
    assert names(shown(limited)) >= limits
    assert names(shown(consumer(config=unlimited))).isdisjoint(limits)


def test_an_unlimited_stream_has_no_limit_series() -> None:
    limited = stream_config(
        max_bytes=1000,
        max_messages=10,
        max_messages_per_subject=5,
        max_consumers=4,
        max_age_seconds=60.0,
        duplicate_window_seconds=120.0,
    )
    limits = {
        catalog.STREAM_MAX_BYTES.name,
        catalog.STREAM_MAX_MESSAGES.name,
        catalog.STREAM_MAX_MESSAGES_PER_SUBJECT.name,
        catalog.STREAM_MAX_CONSUMERS.name,
        catalog.STREAM_MAX_AGE_SECONDS.name,
        catalog.STREAM_DUPLICATE_WINDOW_SECONDS.name,
        catalog.STREAM_FILL_RATIO.name,
    }
    assert names(shown(stream(config=limited))) >= limits
    assert names(shown(stream())).isdisjoint(limits)


def test_an_unlimited_account_has_no_limit_series() -> None:
    limited = AccountUsage("", storage_limit=100, memory_limit=0, streams_limit=5)
    samples = shown(accounts=(Account("A", (limited,)), Account("B", (AccountUsage(""),))))
    found = {(s.name, s.labels["account"]): s.value for s in samples}
    assert found == {
        (catalog.ACCOUNT_STORAGE_LIMIT_BYTES.name, "A"): 100,
        (catalog.ACCOUNT_MEMORY_LIMIT_BYTES.name, "A"): 0,
        (catalog.ACCOUNT_STREAMS_LIMIT.name, "A"): 5,
    }


def test_a_silent_stream_has_only_up_and_info() -> None:
    samples = shown(stream(up=False, reason="missing", leader="", messages=9))
    assert names(samples) == {catalog.STREAM_UP.name, catalog.STREAM_INFO.name}
    assert values_of(samples, catalog.STREAM_UP) == [0]


def test_a_silent_consumer_has_only_up_and_info() -> None:
    samples = shown(consumer(up=False, reason="no_leader", leader="", num_pending=9), consumer("b"))
    assert names([s for s in samples if s.labels["consumer"] == "worker"]) == {
        catalog.CONSUMER_UP.name,
        catalog.CONSUMER_INFO.name,
    }
    assert values_of(samples, catalog.CONSUMER_UP, consumer="worker") == [0]
    assert values_of(samples, catalog.CONSUMER_NUM_PENDING) == [0]


def test_owners_are_labels_of_the_info_series_only_where_they_are_set() -> None:
    owned = OwnerNotes(
        owner='A "B"', team="billing", severity="warning", ignore=("JetStreamStreamFull", "no-ack"),
        back_pressure=True, idempotent_writers=True,
    )  # fmt: skip
    theirs = OwnerNotes(team="billing", long_jobs=60.0)
    samples = shown(
        stream(config=stream_config(notes=owned)),
        stream("PLAIN"),
        consumer(config=consumer_config(notes=theirs)),
    )
    names = {*catalog.OWNER_LABELS, *catalog.WRITER_LABELS}
    found = {
        sample.labels.get("consumer") or sample.labels["stream"]: {
            name: value for name, value in sample.labels.items() if name in names
        }
        for sample in samples
        if sample.name in (catalog.STREAM_INFO.name, catalog.CONSUMER_INFO.name)
    }
    assert found == {
        "ORDERS": {
            "owner_name": 'A "B"', "owner_team": "billing", "owner_severity": "warning",
            "owner_ignore": "JetStreamStreamFull,no-ack", "back_pressure": "true",
            "idempotent_writers": "true",
        },
        "PLAIN": {},
        "worker": {"owner_team": "billing"},
    }  # fmt: skip


def test_an_asset_of_unknown_configuration_has_no_info() -> None:
    samples = shown(stream(config=None, messages=4), consumer(config=None, num_pending=3))
    assert names(samples).isdisjoint({catalog.STREAM_INFO.name, catalog.CONSUMER_INFO.name})
    assert values_of(samples, catalog.STREAM_MESSAGES) == [4]
    assert values_of(samples, catalog.CONSUMER_NUM_PENDING) == [3]


def test_only_push_consumers_are_bound_or_not() -> None:
    bound = consumer("a", push_bound=True, config=consumer_config(kind="push"))
    unbound = consumer("b", config=consumer_config(kind="push"))
    samples = shown(bound, unbound, consumer("c"))
    found = {s.labels["consumer"]: s.value for s in samples if s.name.endswith("_push_bound")}
    assert found == {"a": 1, "b": 0}


# --- fill, times and clocks -----------------------------------------------------------------------


def fill(row: Stream, *others: Server) -> dict[str, float]:
    samples = shown(row, *others)
    ratios = [sample for sample in samples if sample.name == catalog.STREAM_FILL_RATIO.name]
    return {sample.labels["limit"]: sample.value for sample in ratios}


def test_a_fill_ratio_for_each_limit_that_is_set() -> None:
    config = stream_config(max_bytes=1000, max_messages=200, max_consumers=4)
    row = stream(bytes=250, messages=150, consumers=3, config=config)
    assert fill(row) == {"bytes": 0.25, "messages": 0.75, "consumers": 0.75}


@pytest.mark.parametrize(
    ("offset", "ratio"),
    [
        pytest.param(0.0, 0.25, id="clocks agree"),
        pytest.param(10.0, 0.35, id="the server is ten seconds ahead"),
        pytest.param(-10.0, 0.15, id="the server is behind"),
        pytest.param(-40.0, 0.0, id="stored in the future, by our clock"),
    ],
)
def test_the_age_of_a_stream_is_reported_by_the_exporters_clock(
    offset: float, ratio: float
) -> None:
    """The first message was stored 25 s ago, as the server's clock wrote it."""
    config = stream_config(max_age_seconds=100.0)
    row = stream(messages=1, first_time=at(NOW - 25), config=config)
    assert fill(row, server(offset=offset)) == pytest.approx({"age": ratio})


def test_an_empty_stream_is_not_old() -> None:
    assert fill(stream(config=stream_config(max_age_seconds=100.0))) == {"age": 0.0}


def test_without_the_leaders_clock_neither_age_nor_timestamps_are_reported() -> None:
    config = stream_config(max_age_seconds=100.0, max_messages=10)
    row = stream(messages=1, first_time=at(NOW - 25), last_time=at(NOW), config=config)
    busy = consumer(last_delivery=at(NOW), last_ack=at(NOW))
    samples = shown(row, busy, server(offset=None), server("n2"))
    assert {s.labels["limit"] for s in samples if s.name.endswith("_fill_ratio")} == {"messages"}
    assert [name for name in names(samples) if name.endswith("_timestamp_seconds")] == []


def test_timestamps_are_moved_to_the_exporters_clock() -> None:
    row = stream(messages=2, first_time=at(NOW - 60), last_time=at(NOW - 1), leader="n2")
    busy = consumer(last_delivery=at(NOW - 5), last_ack=at(NOW - 7), leader="n2")
    lead = server("n2", offset=2.5, start=at(NOW - 100))
    samples = shown(row, busy, lead, server("n1", offset=-50.0))
    assert values_of(samples, catalog.STREAM_FIRST_TIMESTAMP_SECONDS) == [NOW - 62.5]
    assert values_of(samples, catalog.STREAM_LAST_TIMESTAMP_SECONDS) == [NOW - 3.5]
    assert values_of(samples, catalog.CONSUMER_LAST_DELIVERY_TIMESTAMP_SECONDS) == [NOW - 7.5]
    assert values_of(samples, catalog.CONSUMER_LAST_ACK_TIMESTAMP_SECONDS) == [NOW - 9.5]
    assert values_of(samples, catalog.SERVER_START_TIMESTAMP_SECONDS) == [NOW - 102.5]
    assert values_of(samples, catalog.SERVER_CLOCK_OFFSET_SECONDS, server="n2") == [2.5]
    assert values_of(samples, catalog.SERVER_CLOCK_OFFSET_SECONDS, server="n1") == [-50.0]


def test_the_clock_of_a_silent_server_is_not_reported() -> None:
    samples = shown(server(up=False, version="2.15.1", api_level=5))
    down = catalog.SERVER_CONDITION_START_TIMESTAMP_SECONDS
    assert names(samples) == {catalog.SERVER_UP.name, catalog.SERVER_INFO.name, down.name}
    info = next(sample for sample in samples if sample.name == catalog.SERVER_INFO.name)
    assert (info.labels["version"], info.labels["api_level"]) == ("2.15.1", "5")


# --- replicas, origins, thresholds, the meta group ------------------------------------------------


def test_replicas_are_reported_one_by_one() -> None:
    peers = (Replica("n2", 5, False, 0.5), Replica("n3", 90, True, None))
    samples = shown(stream(replicas=peers), consumer(replicas=peers))
    assert values_of(samples, catalog.STREAM_REPLICA_LAG, server="n2") == [5]
    assert values_of(samples, catalog.STREAM_REPLICA_OFFLINE, server="n3") == [1]
    assert values_of(samples, catalog.STREAM_REPLICA_ACTIVE_SECONDS, server="n2") == [0.5]
    assert values_of(samples, catalog.STREAM_REPLICA_ACTIVE_SECONDS, server="n3") == []
    assert values_of(samples, catalog.CONSUMER_REPLICA_LAG, server="n3") == [90]
    assert values_of(samples, catalog.CONSUMER_REPLICA_OFFLINE, server="n2") == [0]


def test_of_two_sources_of_one_name_the_worse_counts() -> None:
    good = StreamOrigin("EU", 0, 0.1, "")
    behind = StreamOrigin("EU", 7, 0.2, "")
    failed = StreamOrigin("US", 0, None, "stream not found")
    samples = shown(stream(origins=(good, behind, failed)))
    assert values_of(samples, catalog.STREAM_SOURCE_LAG, source="EU") == [7]
    assert values_of(samples, catalog.STREAM_SOURCE_ERROR, source="EU") == [0]
    assert values_of(samples, catalog.STREAM_SOURCE_ERROR, source="US") == [1]
    assert values_of(samples, catalog.STREAM_SOURCE_ACTIVE_SECONDS, source="US") == []


def test_limits_of_the_owner_are_reported_and_unreadable_ones_are_not() -> None:
    owner = Thresholds((("enabled", 1.0), ("last-ack-critical", 5400.0)), ("lag-critical",))
    samples = shown(
        stream(config=stream_config(thresholds=owner)),
        consumer(config=consumer_config(thresholds=owner)),
    )
    for metric in (catalog.STREAM_THRESHOLD, catalog.CONSUMER_THRESHOLD):
        found = {s.labels["limit"]: s.value for s in samples if s.name == metric.name}
        assert found == {"enabled": 1.0, "last-ack-critical": 5400.0}


def test_a_meta_group_without_a_leader_shows_every_member_as_no_leader() -> None:
    members = (server("n1", meta_leader=False), server("n2", meta_leader=True))
    samples = shown(*members, meta=MetaGroup(leader="", size=3))
    assert values_of(samples, catalog.META_LEADER) == [0, 0]
    assert values_of(samples, catalog.META_SIZE) == [3]
    assert values_of(samples, catalog.META_PENDING) == []
