"""The cause of redeliveries, from the acks and naks of the window."""

from __future__ import annotations

from typing import Any

import pytest
from support.exporter.models import NOW

from exporter.signals.redelivery_cause import Cause, redelivery_cause
from exporter.signals.window import Point


def point(at: float = 0.0, **changes: Any) -> Point:
    plain = {"deliveries": 0, "redeliveries": 0, "lost": 0, "backlog": 0, "floor": 0}
    return Point(at=NOW + at, **{**plain, **changes})


CASES: list[tuple[str, dict[str, Any], int, bool, Cause | None]] = [
    ("nothing came again", {"deliveries": 50, "acks": 50}, 0, True, None),
    (
        "half of what came again had been refused",
        {"deliveries": 60, "redeliveries": 20, "acks": 60, "naks": 10},
        0,
        True,
        Cause.NAK,
    ),
    (
        "refused, which advisories show even when no client counts acks",
        {"deliveries": 60, "redeliveries": 20, "naks": 20},
        0,
        True,
        Cause.NAK,
    ),
    (
        "every delivery was acked, repeats included: too late",
        {"deliveries": 60, "redeliveries": 20, "acks": 58},
        0,
        True,
        Cause.LATE_ACKS,
    ),
    (
        "the same, but no client listens for refusals: it may have been those",
        {"deliveries": 60, "redeliveries": 20, "acks": 58},
        0,
        False,
        None,
    ),
    (
        "nothing gets a response",
        {"deliveries": 60, "redeliveries": 50},
        10,
        True,
        None,
    ),
    (
        "nothing gets a response, and that is counted",
        {"deliveries": 60, "redeliveries": 50, "acks": 0},
        10,
        False,
        Cause.NO_ACK,
    ),
    (
        "a worker died with what it held: each came again once, and was acked then",
        {"deliveries": 100, "redeliveries": 50, "acks": 50},
        0,
        True,
        Cause.NO_ACK,
    ),
    (
        "work goes on, and two messages go round and round",
        {"deliveries": 120, "redeliveries": 20, "acks": 98},
        2,
        True,
        Cause.LOOP,
    ),
    (
        "two messages go round and round, as far as is known without acks",
        {"deliveries": 120, "redeliveries": 20},
        2,
        True,
        Cause.LOOP,
    ),
    ("nothing is known at all", {"deliveries": 120, "redeliveries": 20}, 2, False, None),
]


@pytest.mark.parametrize(
    ("now", "num_redelivered", "listening", "expected"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_a_cause_is_found(
    now: dict[str, Any], num_redelivered: int, *, listening: bool, expected: Cause | None
) -> None:
    first = point(acks=0 if "acks" in now else None)
    found = redelivery_cause([first], point(60, **now), num_redelivered, listening=listening)
    assert found is expected


def test_only_the_time_in_which_acks_were_counted_is_used() -> None:
    past = [point(), point(30, deliveries=500, redeliveries=400, acks=1000)]
    now = point(60, deliveries=560, redeliveries=420, acks=1058)
    assert redelivery_cause(past, now, 0, listening=True) is Cause.LATE_ACKS


def test_what_came_again_before_acks_were_counted_keeps_its_cause() -> None:
    """As after a start: the first poll knows no subscriptions, the next ones do."""
    past = [point(), point(30, deliveries=60, redeliveries=20, acks=60, naks=20)]
    now = point(60, deliveries=80, redeliveries=20, acks=80, naks=20)
    assert redelivery_cause(past, now, 0, listening=True) is Cause.NAK
    assert redelivery_cause(past, now, 0, listening=False) is None
