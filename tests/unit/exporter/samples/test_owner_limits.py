"""Which value exceeds which limit of an owner."""

from __future__ import annotations

from typing import Any

import pytest
from support.exporter.models import NOW, at, consumer, consumer_config, stream, stream_config

from exporter.model import OwnerNotes, Replica, Snapshot, StreamOrigin, Thresholds
from exporter.samples.owner_limits import (
    exceeded_by_consumer,
    exceeded_by_stream,
    ignored_assets,
)


def of_consumer(limits: dict[str, float], **row: Any) -> dict[str, float]:
    config = consumer_config(thresholds=Thresholds(tuple(limits.items())))
    return dict(exceeded_by_consumer(consumer(config=config, **row), {"n1": 0.0}, NOW))


def of_stream(limits: dict[str, float], **row: Any) -> dict[str, float]:
    config = stream_config(thresholds=Thresholds(tuple(limits.items())))
    return dict(exceeded_by_stream(stream(config=config, **row), {"n1": 0.0}, NOW))


@pytest.mark.parametrize(
    ("key", "field"),
    [
        ("outstanding-ack-critical", "num_ack_pending"),
        ("waiting-critical", "num_waiting"),
        ("unprocessed-critical", "num_pending"),
        ("redelivery-critical", "num_redelivered"),
    ],
)
def test_a_value_at_the_limit_exceeds_it(key: str, field: str) -> None:
    assert of_consumer({key: 100.0}, **{field: 99}) == {}
    assert of_consumer({key: 100.0}, **{field: 100}) == {key: 100}
    assert of_consumer({key: 0.0}, **{field: 100}) == {}


@pytest.mark.parametrize(
    ("key", "field"),
    [("last-delivery-critical", "last_delivery"), ("last-ack-critical", "last_ack")],
)
def test_ages_are_those_of_the_exporters_clock(key: str, field: str) -> None:
    assert of_consumer({key: 60.0}, **{field: at(NOW - 60)}) == {key: 60.0}
    assert of_consumer({key: 60.0}, **{field: at(NOW - 59)}) == {}
    assert of_consumer({key: 60.0}) == {}  # the server does not know it


def test_a_pause_and_youth_explain_it() -> None:
    limits = {"unprocessed-critical": 1.0}
    assert of_consumer(limits, num_pending=9, paused=True) == {}
    assert of_consumer(limits, num_pending=9, created=at(NOW - 299)) == {}
    assert of_consumer(limits, num_pending=9, created=at(NOW - 300)) == {"unprocessed-critical": 9}
    assert of_stream({"subjects-critical": 1.0}, subjects=9, created=at(NOW - 299)) == {}


def test_the_worst_replica_and_the_worst_source_count() -> None:
    replicas = (Replica("n2", 5, False, 1.0), Replica("n3", 100, False, 9.0))
    assert of_stream({"peer-lag-critical": 100.0}, replicas=replicas) == {"peer-lag-critical": 100}
    assert of_stream({"peer-seen-critical": 10.0}, replicas=replicas) == {}
    origins = (StreamOrigin("A", 7, 60.0, ""), StreamOrigin("B", 8, None, ""))
    limits = {"lag-critical": 8.0, "seen-critical": 60.0}
    assert of_stream(limits, origins=origins) == {"lag-critical": 8, "seen-critical": 60.0}


@pytest.mark.parametrize(
    ("quantity", "warn", "few", "many"),
    [
        ("messages", None, True, False),
        ("messages", 150.0, True, False),
        ("messages", 100.0, True, False),
        ("messages", 80.0, False, True),
        ("subjects", None, False, True),
        ("subjects", 80.0, False, True),
        ("subjects", 100.0, True, False),
        ("subjects", 150.0, True, False),
    ],
)
def test_a_warning_limit_gives_the_direction(
    quantity: str, warn: float | None, few: bool, many: bool
) -> None:
    """As with the nats CLI: a warning above the critical limit means too few."""
    key = {"messages": "msgs", "subjects": "subjects"}[quantity]
    limits = {f"{key}-critical": 100.0} | ({} if warn is None else {f"{key}-warn": warn})
    assert bool(of_stream(limits, **{quantity: 99})) is few
    assert bool(of_stream(limits, **{quantity: 101})) is many
    assert of_stream(limits, **{quantity: 100}) == {f"{key}-critical": 100}


def test_what_owners_mute_is_counted() -> None:
    muted = OwnerNotes(ignore=("all",))
    rows = (
        consumer(config=consumer_config(notes=muted)),
        consumer("other", config=consumer_config(notes=OwnerNotes(team="billing"))),
        consumer("unknown", config=None),
    )
    polled = Snapshot("nats", NOW, streams=(stream(),), consumers=rows)
    assert ignored_assets(polled) == {"stream": 0, "consumer": 1}
    assert ignored_assets(None) == {}
