"""Acks, pulls and dead letters from the same polls."""

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
from support.signals.publish_polls import FIRST_LIFE, LONG_AGO, OTHER_NODE, WORKER, counts, snapshot

from exporter.signals.publishes.engine import ConsumerReplies, PublishState
from exporter.subscription_counts import Counters


def test_acks_and_pulls_follow_the_consumer() -> None:
    state, node = PublishState(), server("n1")
    row = consumer(created=LONG_AGO)
    polls: list[tuple[Counters, Counters]] = [
        (((FIRST_LIFE, 100),), ((("N1", 12, "2", ""), 10),)),
        (((FIRST_LIFE, 120), (("N1", 12, "3", ""), 5)), ((("N1", 12, "2", ""), 13),)),
        (((OTHER_NODE, 7),), ((("N2", 30, "2", ""), 1),)),
    ]
    result = [
        state.update(counts(acks=acks, pulls=pulls), snapshot(row, node)).consumers[WORKER]
        for acks, pulls in polls
    ]
    assert result == [ConsumerReplies(0, 0), ConsumerReplies(25, 3), ConsumerReplies(32, 4)]
    between = state.update(None, snapshot(row, node, after=60)).consumers[WORKER]
    assert between == ConsumerReplies(32, 4)
    assert state.update(None, snapshot(row, node, after=200)).consumers == {}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(consumer_config(kind="push"), ConsumerReplies(3, None), id="push"),
        pytest.param(consumer_config(ack_policy="none"), ConsumerReplies(None, 4), id="no acks"),
        pytest.param(None, None, id="configuration not known"),
    ],
)
def test_only_what_the_consumer_can_get_is_reported(
    config: Any, expected: ConsumerReplies | None
) -> None:
    state, node = PublishState(), server("n1")
    state.update(None, snapshot(node))
    row = consumer(created=at(NOW + 5), config=config)
    got = state.update(
        counts(acks=((FIRST_LIFE, 3),), pulls=((OTHER_NODE, 4),)), snapshot(row, node)
    )
    assert got.consumers.get(WORKER) == expected


ADVISORY = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"


@pytest.mark.parametrize(
    ("listeners", "kept", "whole", "captured"),
    [
        pytest.param([f"{ADVISORY}.ORDERS.worker"], "orders", True, 1, id="this consumer's"),
        pytest.param([f"{ADVISORY}.*.worker"], "orders", False, 1, id="a part is enough for yes"),
        pytest.param(["$JS.EVENT.>"], "orders", True, 1, id="everything"),
        pytest.param([f"{ADVISORY}.ORDERS.other"], "orders", True, 0, id="another's"),
        pytest.param([], f"{ADVISORY}.>", False, 1, id="a stream"),
        pytest.param([], "orders", True, 0, id="no consumer"),
        pytest.param([], "orders", False, None, id="no client, but not all were seen"),
    ],
)
def test_dead_letters_are_captured_by_a_stream_or_a_subscriber(
    listeners: list[str], kept: str, whole: bool, captured: int | None
) -> None:
    rows = (
        stream(config=stream_config(subjects=(kept,))),
        consumer(config=consumer_config(max_deliver=5)),
        server("n1"),
    )
    found = counts(
        advisory_listeners={"APP": frozenset(listeners)},
        whole_accounts=frozenset({"APP"} if whole else ()),
    )
    result = PublishState().update(found, snapshot(*rows)).consumers.get(WORKER)
    assert (result.dead_letter_captured if result else None) == captured


def test_without_polls_a_stream_that_keeps_the_advisory_is_still_seen() -> None:
    keeper = stream(config=stream_config(subjects=(f"{ADVISORY}.ORDERS.*",)))
    finite, endless = consumer_config(max_deliver=5), consumer_config()
    rows = consumer(config=finite), consumer("patient", config=endless)
    result = PublishState().update(None, snapshot(keeper, *rows)).consumers
    assert result == {WORKER: ConsumerReplies(dead_letter_captured=1)}
