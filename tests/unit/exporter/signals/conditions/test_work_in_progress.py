"""In-progress acks: seen in last_active or in the number of replies, and not taken for naks."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from support.exporter.models import NOW, at, consumer, consumer_config

from exporter.model import Consumer
from exporter.signals.conditions.work_in_progress import (
    WorkState,
    at_work_until,
    next_work_state,
)
from exporter.signals.window import Point

POLL = 15.0
CONFIG = consumer_config(ack_wait_seconds=20.0)
FRESH = 90.0 + 30.0  # after the last sign


def row(touched: float | None = 0.0, **changes: Any) -> Consumer:
    plain: dict[str, Any] = {
        "config": CONFIG,
        "delivered_consumer_seq": 9,
        "num_ack_pending": 3,
        "last_delivery": None if touched is None else at(NOW + touched),
    }
    return consumer(**{**plain, **changes})


def followed(*rows: Consumer, **counts: list[int]) -> tuple[WorkState | None, Consumer]:
    """Polls every 15 s; `counts`: values of the points, one for each row."""
    state, before = None, None
    for number, seen in enumerate(rows):
        values = {"redeliveries": 0, **{name: each[number] for name, each in counts.items()}}
        point = Point(NOW + POLL * number, seen.delivered_consumer_seq, lost=0, backlog=0, floor=0,
                      **values)  # fmt: skip
        state, before = next_work_state(state, before, seen, point), seen
    return state, rows[-1]


SIGNS: list[tuple[str, list[Consumer], dict[str, list[int]], int]] = [
    ("nothing moves", [row(), row(), row()], {}, 0),
    ("two moves without a delivery", [row(0), row(5), row(9)], {}, 2),
    ("each move came with a delivery", [row(0), row(5, delivered_consumer_seq=10),
                                        row(9, delivered_consumer_seq=11)], {}, 0),
    ("one move: it may be a nak with a delay", [row(0), row(5), row(5)], {}, 1),
    ("a message was given up", [row(0), row(5, num_ack_pending=2), row(9, num_ack_pending=1)], {}, 0),
    ("another leader has another time", [row(0), row(5, leader="n2"), row(9, leader="n3")], {}, 0),
    ("a restarted server forgot its time", [row(0), row(None), row(9)], {}, 0),
    (
        "more replies than messages finished, while others flow",
        [row(0), row(5, delivered_consumer_seq=19), row(9, delivered_consumer_seq=29)],
        {"acks": [100, 112, 125]},
        2,
    ),
    (
        "as many replies as messages finished",
        [row(0), row(5, delivered_consumer_seq=19, num_ack_pending=1),
         row(9, delivered_consumer_seq=29)],
        {"acks": [100, 112, 120]},
        0,
    ),
    (
        "the others are naks",
        [row(0), row(5, delivered_consumer_seq=19), row(9, delivered_consumer_seq=29)],
        {"acks": [100, 112, 125], "naks": [0, 2, 7]},
        0,
    ),
    (
        "the others were refused: their messages came again",
        [row(0), row(5, delivered_consumer_seq=21), row(9, delivered_consumer_seq=36)],
        {"acks": [100, 112, 127], "redeliveries": [0, 2, 7]},
        0,
    ),
    (
        "a nak loop: its counts are of two moments",
        [row(0), row(5, delivered_consumer_seq=54_009), row(9, delivered_consumer_seq=108_009)],
        {"acks": [0, 54_100, 108_150], "naks": [0, 54_000, 108_000],
         "redeliveries": [0, 54_000, 108_000]},
        0,
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "counts", "signs"), [case[1:] for case in SIGNS], ids=[case[0] for case in SIGNS]
)
def test_signs_of_work(rows: list[Consumer], counts: dict[str, list[int]], signs: int) -> None:
    state, last = followed(*rows, **counts)
    assert (state.signs if state else 0) == signs
    # One sign leaves it open; it was seen at the second poll.
    until = {0: (-inf, -inf), 1: (-inf, NOW + POLL + FRESH), 2: (NOW + 2 * POLL + FRESH, -inf)}
    assert at_work_until(state, last) == until[signs]


def test_signs_too_far_apart_are_single_ones() -> None:
    state = WorkState(signs=1, at=NOW)
    point = Point(NOW + FRESH + 1, 9, 0, 0, 0, 0)
    after = next_work_state(state, row(0), row(5), point)
    assert after is not None
    assert after.signs == 1


def test_without_unacked_messages_there_is_no_work() -> None:
    state, _ = followed(row(0), row(5), row(9), row(12, num_ack_pending=0))
    assert state is None
