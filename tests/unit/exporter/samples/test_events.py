"""What was received, as series: which appear, for whom, and which do not."""

from collections.abc import Sequence

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
from prometheus_client.parser import text_string_to_metric_families as parse_text
from support.exporter.models import consumer, consumer_config

from exporter import catalog
from exporter.events.ack_samples import AckSample
from exporter.events.advisories import Advisory
from exporter.events.counts import EventCounts, TapState
from exporter.events.publish_acks import Unstored
from exporter.events.state import OWN, EventState
from exporter.exposition.text_format import Column, Format, assemble, label_head, render_block
from exporter.metric import PREFIX
from exporter.samples.events import (
    account_event_columns,
    consumer_event_columns,
    event_self_samples,
    stream_event_columns,
)

CONSUMERS = [("APP", "ORDERS", "worker"), ("APP", "ORDERS", "idle")]
ROWS = [consumer("worker"), consumer("idle")]
STREAMS = [("APP", "ORDERS"), ("APP", "QUIET")]
Series = tuple[str, tuple[tuple[str, str], ...]]


@pytest.fixture
def counts() -> EventCounts:
    state = EventState(clock=lambda: 100.0)
    state.name_account("APP")
    for name in ("worker", "deleted"):
        state.record(
            OWN, Advisory("consumer_msg_naked", stream="ORDERS", consumer=name, stream_seq=1)
        )
    state.record(OWN, Advisory("consumer_msg_terminated", stream="ORDERS", consumer="worker",
                            stream_seq=2, reason="no"))  # fmt: skip
    state.record_ack(AckSample("ORDERS", "worker", 0.02))
    state.record(OWN, Advisory("stream_quorum_lost", "1", stream="ORDERS"))
    state.record_unstored(Unstored("ORDERS", 10071))
    state.record_unstored(Unstored("", 10054))
    return state.counts()


def heads(keys: Sequence[tuple[str, ...]], labels: tuple[str, ...]) -> list[str]:
    return [label_head(labels, ("nats", *key)) for key in keys]


def columns(counts: EventCounts) -> list[Column]:
    return [
        *consumer_event_columns(ROWS, CONSUMERS, heads(CONSUMERS, catalog.CONSUMER), counts),
        *stream_event_columns(STREAMS, heads(STREAMS, catalog.STREAM), counts),
        *account_event_columns("nats", counts),
    ]


def series(found: list[Column], fmt: Format = Format.TEXT) -> dict[Series, float]:
    blocks = [block for block in map(render_block, found) if block is not None]
    text = b"".join(assemble([blocks], b"", fmt).plain_chunks()).decode()
    parse = parse_text if fmt is Format.TEXT else parse_open
    return {
        (sample.name.removeprefix(PREFIX), tuple(sorted(sample.labels.items()))): sample.value
        for family in parse(text)
        for sample in family.samples
    }


def key(name: str, **labels: str) -> Series:
    return name, tuple(sorted({"system": "nats", "account": "APP", **labels}.items()))


@pytest.mark.parametrize("fmt", Format)
def test_only_what_was_received_of_living_assets_has_series(
    counts: EventCounts, fmt: Format
) -> None:
    found = series(columns(counts), fmt)
    buckets = {each for each in found if each[0] == "consumer_ack_seconds_bucket"}
    worker = {"stream": "ORDERS", "consumer": "worker"}
    assert {each: value for each, value in found.items() if each not in buckets} == {
        key("consumer_naks_total", **worker): 1,
        key("consumer_terms_total", by="client", **worker): 1,
        key("consumer_ack_seconds_count", **worker): 1,
        key("consumer_ack_seconds_sum", **worker): 0.02,
        key("stream_quorum_lost_total", stream="ORDERS"): 1,
        key("stream_quorum_lost_last_event_timestamp_seconds", stream="ORDERS"): 100.0,
        key("stream_publish_rejections_total", stream="ORDERS", code="10071"): 1,
        key("stream_publish_rejections_total", stream="", code="10054"): 1,
        key("advisories_total", kind="consumer_msg_naked"): 2,
        key("advisories_total", kind="consumer_msg_terminated"): 1,
        key("advisories_total", kind="stream_quorum_lost"): 1,
    }
    assert {dict(labels)["consumer"] for _, labels in buckets} == {"worker"}
    assert found[key("consumer_ack_seconds_bucket", le="0.01", **worker)] == 0
    assert found[key("consumer_ack_seconds_bucket", le="0.025", **worker)] == 1


@pytest.mark.parametrize(
    ("max_deliver", "redelivered", "unconfirmed"),
    [(3, 0, True), (3, 1, False), (None, 1, True), (1, 0, False)],
    ids=["none is left", "one is left", "no limit", "not counted with max_deliver 1"],
)
def test_advisories_that_the_state_contradicts_are_unconfirmed(
    max_deliver: int | None, redelivered: int, unconfirmed: bool
) -> None:
    state = EventState(clock=lambda: 100.0)
    state.name_account("APP")
    state.record(
        OWN,
        Advisory("consumer_max_deliveries", stream="ORDERS", consumer="worker", stream_seq=1),
    )
    row = consumer(config=consumer_config(max_deliver=max_deliver), num_redelivered=redelivered)
    labels = heads(CONSUMERS[:1], catalog.CONSUMER)
    found = series([*consumer_event_columns([row], CONSUMERS[:1], labels, state.counts())])
    worker = {"stream": "ORDERS", "consumer": "worker"}
    assert found[key("consumer_exhausted_total", **worker)] == 1
    assert (key("consumer_exhausted_unconfirmed", **worker) in found) is unconfirmed


def test_when_nothing_was_received_there_is_no_series() -> None:
    assert series(columns(EventCounts())) == {}


def test_the_exporter_shows_whether_it_listens() -> None:
    tap = TapState("APP", active=False, dropped=3)
    counts = EventCounts(connected_since=12.5, tap=tap, dropped=7)
    assert {(sample.metric, sample.labels): sample.value for sample in event_self_samples("x", counts)} == {
        (catalog.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS, ("x",)): 12.5,
        (catalog.EVENTS_DROPPED, ("x",)): 7,
        (catalog.PUBLISH_ACK_TAP_ACTIVE, ("x",)): 0,
        (catalog.PUBLISH_ACK_TAP_DROPPED, ("x",)): 3,
    }  # fmt: skip
    assert list(event_self_samples("x", EventCounts())) == []
