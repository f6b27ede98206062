"""Every signal and event counter has its series, and nothing else has."""

from __future__ import annotations

from typing import Any

import msgspec
from support.audit.reports import WORKER, audit_context, check, evaluated
from support.exporter.models import (
    consumer,
    consumer_config,
    server,
    snapshot,
    stream,
    stream_config,
)
from support.exporter.rendered_series import FULL

from exporter import catalog
from exporter.audit.check import Finding
from exporter.audit.report import Report
from exporter.events.counts import ConsumerCounts, EventCounts, StreamCounts, TapState
from exporter.exposition.histogram import Histogram
from exporter.metric import Metric, Origin, Subject
from exporter.model import SubjectCounts, Thresholds
from exporter.samples.events import event_self_samples
from exporter.samples.render import Renderer
from exporter.signals.event_count import EventCount
from exporter.signals.publishes.engine import ConsumerReplies, PublishSignals, StreamPublishes
from exporter.signals.results import ConsumerSignals, Signals, StreamSignals

STREAM, CONSUMER = ("APP", "ORDERS"), ("APP", "ORDERS", "worker")
SIGNALS = (Origin.DERIVED, Origin.EVENT)
# Reported by the sources and the audit, each with tests of its own.
ELSEWHERE = {
    catalog.CONSUMER_EXHAUSTED_UNCONFIRMED,  # of a consumer whose state contradicts its events
    catalog.SERVER_CLOCK_OFFSET_SECONDS,
    catalog.SERVER_CLOCK_UNCERTAINTY_SECONDS,
    catalog.SERVER_ROUND_TRIP_SECONDS,
}


def filled(kind: type[Any]) -> Any:
    """With a value in every field."""
    pairs = ("divergence", "conditions", "unjudged")
    return kind(**{
        each.name: (("n2", 5),) if each.name in pairs else 1
        for each in msgspec.structs.fields(kind)
    })  # fmt: skip


def happened(prefix: str) -> dict[Metric, EventCount]:
    """Every derived event counter of an asset."""
    counters = [each for each in catalog.EVENT_TIMES if each.origin is Origin.DERIVED]
    return {each: EventCount(1, 1.0) for each in counters if each.name.startswith(prefix)}


def found_everywhere() -> Report:
    named = ({"server": "n1"}, {"account": "APP"}, {}, {"account": "APP", "stream": "ORDERS"})
    found = [Finding(evidence="", **each) for each in named]
    return evaluated(audit_context(), check("a-check", WORKER, *found))


def served() -> set[Metric]:
    limits = Thresholds((("redelivery-critical", 1.0), ("msgs-critical", 1.0)))
    config = consumer_config(max_deliver=3, max_ack_pending=9, thresholds=limits)
    asset = consumer(config=config, num_redelivered=1)
    limited = stream(config=stream_config(thresholds=limits))
    held = (("full", 1.0),)
    signals = Signals(
        {CONSUMER: filled(ConsumerSignals)},
        {STREAM: filled(StreamSignals)},
        {CONSUMER: happened("streamgauge_consumer")},
        {STREAM: happened("streamgauge_stream")},
        {STREAM: held},
        {"n1": held},
    )
    published = PublishSignals(
        {STREAM: filled(StreamPublishes)}, {CONSUMER: filled(ConsumerReplies)}
    )
    events = EventCounts(
        {CONSUMER: ConsumerCounts(1, 1, 7, frozenset({7}), (("client", 1),), Histogram((1.0,), (1, 0), 0.5), 9.0)},
        {STREAM: StreamCounts(1, 1, 1, ((10071, 1),), 9.0, 9.0)},
        {("APP", "stream_created"): 1},
        12.5,
        TapState("APP", active=True),
        1,
    )  # fmt: skip
    page = Renderer("nats", FULL).render(
        snapshot(limited, asset, server("n1")), signals, published, events, found_everywhere(),
        {STREAM: SubjectCounts((("orders.eu", 5),), 1)},
    )  # fmt: skip
    blocks = {block.metric for block in page.blocks}
    return blocks | {sample.metric for sample in event_self_samples("nats", events)}


def test_every_derived_and_received_metric_has_its_series() -> None:
    wanted = {metric for metric in catalog.ALL if metric.origin in SIGNALS} - ELSEWHERE
    assert sorted(metric.name for metric in wanted - served()) == []


def test_what_only_the_exporter_knows_of_its_listening_is_reported() -> None:
    of_events = {
        catalog.PUBLISH_ACK_TAP_ACTIVE,
        catalog.PUBLISH_ACK_TAP_DROPPED,
        catalog.EVENTS_DROPPED,
        catalog.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS,
    }
    assert of_events <= served()
    assert {metric.subject for metric in of_events} == {Subject.EXPORTER}
