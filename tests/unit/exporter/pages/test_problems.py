"""The problems of one asset: all of them, gravest first, with evidence, as its owner wants."""

from __future__ import annotations

from typing import Any

import pytest
from support.exporter.models import (
    NOW,
    at,
    consumer,
    consumer_config,
    server,
    stream,
    stream_config,
)
from support.exporter.status_views import held

from exporter import catalog
from exporter.model import (
    MALFORMED,
    Consumer,
    OwnerNotes,
    Replica,
    Server,
    Stream,
    StreamOrigin,
    Thresholds,
)
from exporter.pages.status.level import Level
from exporter.pages.status.problems import (
    Facts,
    Problem,
    consumer_problems,
    level_of,
    server_problems,
    stream_problems,
)
from exporter.signals.event_count import EventCount
from exporter.signals.results import ConsumerSignals, Signals

WORKER = ("APP", "ORDERS", "worker")


def of_consumer(signals: ConsumerSignals, **changes: Any) -> tuple[Problem, ...]:
    facts = Facts(Signals(consumers={WORKER: signals}), NOW, {})
    return consumer_problems(consumer(**changes), facts)


def of_stream(*words: str, row: Stream, **more: Any) -> tuple[Problem, ...]:
    conditions = tuple((word, NOW - 30) for word in words)
    signals = Signals(stream_conditions={("APP", "ORDERS"): conditions}, **more)
    return stream_problems(row, Facts(signals, NOW, {}))


def test_the_gravest_comes_first_and_none_hides_another() -> None:
    found = of_consumer(
        held(("no_worker_pulls", 900.0), ("ack_pending_full", 600.0), ("long_jobs", 60.0))
    )
    assert [(each.text, each.level, each.since_seconds) for each in found] == [
        ("ack pending full", Level.CRITICAL, 600.0),
        ("no worker pulls", Level.WARNING, 900.0),
        ("long jobs", Level.OK, 60.0),
    ]
    assert found[0].runbook == "JetStreamConsumerAckPendingFull"
    assert found[0].command == "nats consumer info ORDERS worker"


def test_a_well_consumer_has_none() -> None:
    assert of_consumer(held()) == ()
    assert level_of(()) is Level.OK


@pytest.mark.parametrize(
    ("notes", "level"),
    [
        (OwnerNotes(), Level.CRITICAL),
        (OwnerNotes(severity="warning"), Level.WARNING),
        (OwnerNotes(severity="info"), Level.OK),
        (OwnerNotes(severity="critical"), Level.CRITICAL),
        (OwnerNotes(ignore=("all",)), Level.OK),
        (OwnerNotes(ignore=("ConsumerStalled",)), Level.OK),
        (OwnerNotes(ignore=("JetStreamConsumerStalled",)), Level.OK),
        (OwnerNotes(ignore=("no-limits",)), Level.CRITICAL),
    ],
)
def test_owners_lower_the_level_as_they_do_for_alerts(notes: OwnerNotes, level: Level) -> None:
    (problem,) = of_consumer(held(("stalled", 1.0)), config=consumer_config(notes=notes))
    assert problem.level is level
    assert ("muted by the owner" in problem.evidence) is bool(set(notes.ignore) - {"no-limits"})


@pytest.mark.parametrize("out", [{"paused": True}, {"config": consumer_config(durable=False)}])
def test_a_paused_or_ephemeral_consumer_raises_no_alert(out: dict[str, Any]) -> None:
    assert level_of(of_consumer(held(("stalled", 1.0)), **out)) is Level.OK


@pytest.mark.parametrize(
    ("word", "values", "row", "words"),
    [
        ("losing_messages", {"lost": 1200}, {}, "1,200 lost before delivery"),
        ("redelivery_high", {"redelivery_ratio": 0.5}, {}, "50% of deliveries are redeliveries"),
        (
            "no_worker_pulls",
            {"stalled": 3700.0},
            {"num_pending": 50},
            "no pull request waits, 50 pending, nothing delivered for 1 h 1 min",
        ),
        (
            "ack_pending_full",
            {"floor_stalled": 600.0, "lag": 700.0},
            {"num_ack_pending": 1000},
            "1,000 of 1,000 unacknowledged, ack floor unchanged for 10 min, "
            "oldest unfinished 11 min old",
        ),
        ("stalled", {}, {"num_waiting": 3}, "3 pulls wait, 0 pending"),
        ("not_bound", {}, {"num_pending": 2}, "no subscriber is bound, 2 pending"),
        ("headroom_low", {"headroom_seconds": 90.0}, {}, "the next is removed in 1 min"),
        ("headroom_low", {"headroom_ratio": 0.1}, {}, "10% of the retention is left"),
        ("acks_late", {"lag": 4.0}, {}, "ack_wait is 30 s"),
        ("ack_floor_stuck", {"floor_exhausted": 1}, {}, "ack floor held by messages that reached max_deliver"),
        ("messages_abandoned", {}, {"num_redelivered": 4, "num_ack_pending": 1}, "at least 3 reached max_deliver"),
        ("ack_floor_gap_high", {"ack_floor_gap_deliveries": 5000}, {}, "5,000 deliveries above the ack floor"),
    ],
)  # fmt: skip
def test_a_condition_comes_with_its_numbers(
    word: str, values: dict[str, Any], row: dict[str, Any], words: str
) -> None:
    (problem,) = of_consumer(held((word, 60.0), **values), **row)
    assert problem.evidence == words


def test_without_a_leader_the_reason_is_reported() -> None:
    (problem,) = of_consumer(held(("no_leader", 5.0)), up=False, reason="server_down")
    assert (problem.text, problem.evidence) == ("no leader", "server down")


def test_a_row_that_could_not_be_decoded_is_not_called_well() -> None:
    facts = Facts(Signals(), NOW, {})
    found = consumer_problems(consumer(up=False, reason=MALFORMED), facts)
    assert [(each.text, each.level) for each in found] == [("malformed row", Level.WARNING)]


@pytest.mark.parametrize(("age", "shown"), [(60.0, True), (1000.0, False)])
def test_a_recent_loss_is_shown_as_long_as_it_fires(age: float, shown: bool) -> None:
    events = {WORKER: {catalog.CONSUMER_LOST_MESSAGES: EventCount(12, NOW - age)}}
    facts = Facts(Signals(consumer_events=events), NOW, {})
    found = consumer_problems(consumer(), facts)
    assert [(each.text, each.level, each.evidence) for each in found] == (
        [("messages lost", Level.CRITICAL, "12 in all")] if shown else []
    )


def test_an_exceeded_limit_of_the_owner_is_critical() -> None:
    limits = Thresholds((("unprocessed-critical", 10.0),))
    row: Consumer = consumer(
        num_pending=12, config=consumer_config(thresholds=limits), created=at(NOW - 86400)
    )
    (problem,) = consumer_problems(row, Facts(Signals(), NOW, {}))
    assert (problem.text, problem.level) == ("owner limit exceeded", Level.CRITICAL)
    assert problem.evidence == "io.nats.monitor.unprocessed-critical: the value is 12"


FULL = stream_config(discard="new", max_messages=10)


@pytest.mark.parametrize(
    ("word", "row", "words"),
    [
        ("full", stream(config=FULL, messages=10, bytes=2048), "100% of its limit used, 10 messages, 2 KiB"),
        ("replica_offline", stream(replicas=(Replica("n2", 0, True, 9.0),)), "offline: n2, 2 replicas"),
        ("replica_lagging", stream(replicas=(Replica("n2", 7000, False, 1.0),)), "n2 is 7,000 entries behind"),
        ("mirror_stale", stream(origins=(StreamOrigin("UP", 0, 120.0, ""),)), "UP: last active 2 min ago"),
        ("diverged", stream(messages=5, follower_messages=(("n2", 9),)), "n2 holds 9, the leader holds 5"),
        ("no_interest", stream(last_seq=7000), "no consumer, last sequence 7,000"),
        ("unreachable_messages", stream(messages=3, consumers=1), "3 messages, none pending on its 1 consumer"),
        ("index_damaged", stream(messages=3, subjects=4), "4 subjects, 3 messages"),
    ],
)  # fmt: skip
def test_a_condition_of_a_stream_comes_with_its_numbers(word: str, row: Stream, words: str) -> None:
    (problem,) = of_stream(word, row=row)
    assert problem.evidence == words


def test_a_full_stream_whose_owner_wants_back_pressure_is_well() -> None:
    config = stream_config(discard="new", max_messages=10, notes=OwnerNotes(back_pressure=True))
    (problem,) = of_stream("full", row=stream(config=config, messages=10))
    assert (problem.text, problem.level) == ("back pressure", Level.OK)


def test_lost_messages_of_a_store_are_critical() -> None:
    (problem,) = of_stream(row=stream(lost=3))
    assert (problem.text, problem.level, problem.evidence) == (
        "damaged store", Level.CRITICAL, "3 messages lost",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("word", "row", "words"),
    [
        ("clock_off", server(offset=7.2), "+7.2 s ± 1 ms"),
        ("unhealthy", server(health_detail="JetStream is not current"), "JetStream is not current"),
        ("storage_high", server(storage_used=95, storage_max=100), "storage 95 B of 100 B"),
        ("down", server(up=False, version="2.15.1"), "version 2.15.1"),
    ],
)
def test_a_condition_of_a_server_comes_with_its_numbers(word: str, row: Server, words: str) -> None:
    facts = Facts(Signals(server_conditions={"n1": ((word, NOW - 9),)}), NOW, {})
    (problem,) = server_problems(row, facts)
    assert (problem.level, problem.since_seconds, problem.evidence) == (Level.WARNING, 9.0, words)


def test_a_condition_that_the_page_does_not_know_is_not_called_well() -> None:
    (problem,) = of_consumer(held(("brand_new", 1.0)))
    assert (problem.text, problem.level) == ("brand new", Level.WARNING)
