"""One table: for each situation every predicate and the verdict, with the sentence that explains it."""

from __future__ import annotations

from typing import Any

import pytest
from support.exporter.models import NOW

from exporter.signals.verdict import (
    Evidence,
    Verdict,
    has_no_worker,
    is_ack_pending_full,
    is_falling_behind,
    is_floor_stuck,
    is_idle,
    is_looping,
    is_losing,
    verdict,
    worst,
)
from exporter.signals.window import Point

PREDICATES = {
    "losing": is_losing,
    "full": is_ack_pending_full,
    "looping": is_looping,
    "stuck": is_floor_stuck,
    "deserted": has_no_worker,
    "behind": is_falling_behind,
    "idle": is_idle,
}
STEP = 30.0


def points(**series: list[int]) -> dict[str, Any]:
    """Points half a minute apart, the last one now: one list for each field that matters."""
    length = max(map(len, series.values()))
    fields = {"deliveries": 0, "redeliveries": 0, "lost": 0, "backlog": 0, "floor": 0}
    made = [
        Point(
            at=NOW - STEP * (length - 1 - place),
            **{
                name: series[name][place] if name in series else plain
                for name, plain in fields.items()
            },
        )
        for place in range(length)
    ]
    return {"past": made[:-1], "now": made[-1]}


def evidence(**changes: Any) -> Evidence:
    """A pull consumer with a client waiting, ack_wait of 30 s, nothing wrong."""
    plain: dict[str, Any] = {
        "paused": False,
        "reachable": True,
        "num_pending": 0,
        "num_ack_pending": 0,
        "max_ack_pending": 100,
        "ack_wait_seconds": 30.0,
        "stalled_seconds": 0.0,
        "no_new_seconds": 0.0,
        "floor_stalled_seconds": 0.0,
        "floor_exhausted": False,
        **points(deliveries=[5, 9], floor=[5, 9]),
    }
    return Evidence(**{**plain, **changes})


GROWING = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
BUSY = {"deliveries": [100 * n for n in range(10)], "floor": [100 * n for n in range(10)]}

TABLE: list[tuple[str, Evidence, set[str], Verdict]] = [
    (
        "deliveries come and get acked",
        evidence(),
        set(),
        Verdict.OK,
    ),
    (
        "nothing to do and nothing done",
        evidence(**points(deliveries=[9, 9])),
        {"idle"},
        Verdict.IDLE,
    ),
    (
        "nothing to do now, but there was within the window",
        evidence(**points(deliveries=[5, 9, 9, 9])),
        set(),
        Verdict.OK,
    ),
    (
        "paused: what else is wrong follows from that",
        evidence(
            paused=True, num_pending=90, reachable=False, stalled_seconds=900.0,
            **points(backlog=GROWING),
        ),
        {"deserted", "behind"},
        Verdict.PAUSED,
    ),
    (
        "a message was lost within the window, and it also falls behind",
        evidence(**points(lost=[0] * 9 + [1], backlog=GROWING, **BUSY)),
        {"losing", "behind"},
        Verdict.LOSING_MESSAGES,
    ),
    (
        "a loss of long ago is no news",
        evidence(**points(lost=[7, 7, 7], deliveries=[1, 2, 3])),
        set(),
        Verdict.OK,
    ),
    (
        "no capacity for a new message for longer than an response may take",
        evidence(num_ack_pending=100, num_pending=5, no_new_seconds=31.0),
        {"full"},
        Verdict.ACK_PENDING_FULL,
    ),
    (
        "working at its limit: each finished message allows a new one",
        evidence(num_ack_pending=100, num_pending=5, no_new_seconds=15.0),
        set(),
        Verdict.OK,
    ),
    (
        "full, but nothing more waits",
        evidence(num_ack_pending=100, no_new_seconds=3000.0),
        set(),
        Verdict.OK,
    ),
    (
        "full for the whole window although ack_wait is an hour",
        evidence(
            num_ack_pending=100, num_pending=5, no_new_seconds=301.0, ack_wait_seconds=3600.0
        ),
        {"full"},
        Verdict.ACK_PENDING_FULL,
    ),
    (
        "without a limit it cannot be full",
        evidence(
            num_ack_pending=5000, num_pending=5, no_new_seconds=999.0, max_ack_pending=None
        ),
        set(),
        Verdict.OK,
    ),
    (
        "three messages again and again, and none is finished",
        evidence(
            num_ack_pending=3,
            **points(deliveries=[3, 6, 9], redeliveries=[0, 3, 6], floor=[0, 0, 0]),
        ),
        {"looping"},
        Verdict.REDELIVERY_LOOP,
    ),
    (
        "the worker was restarted: everything once again, but only once",
        evidence(
            num_ack_pending=50,
            **points(deliveries=[50, 100, 100], redeliveries=[0, 50, 50], floor=[0, 0, 0]),
        ),
        set(),
        Verdict.OK,
    ),
    (
        "many repeats, but messages get finished",
        evidence(
            num_ack_pending=3,
            **points(deliveries=[3, 6, 9], redeliveries=[0, 3, 6], floor=[0, 1, 2]),
        ),
        set(),
        Verdict.OK,
    ),
    (
        "repeats for less than a minute prove nothing yet",
        evidence(num_ack_pending=3, **points(deliveries=[3, 99], redeliveries=[0, 90])),
        set(),
        Verdict.OK,
    ),
    (
        "the floor stands for more than ten times ack_wait, others get through",
        evidence(
            num_ack_pending=1,
            floor_stalled_seconds=301.0,
            **points(deliveries=[1, 50, 99], floor=[7, 7, 7]),
        ),
        {"stuck"},
        Verdict.ACK_FLOOR_STUCK,
    ),
    (
        "the same, but the message at the floor was given up: nothing waits for it",
        evidence(
            num_ack_pending=1,
            floor_stalled_seconds=301.0,
            floor_exhausted=True,
            **points(deliveries=[1, 50, 99], floor=[7, 7, 7]),
        ),
        set(),
        Verdict.OK,
    ),
    (
        "without acks there is no floor to be stuck",
        evidence(ack_wait_seconds=None, floor_stalled_seconds=9999.0),
        set(),
        Verdict.OK,
    ),
    (
        "messages wait, no client requests",
        evidence(num_pending=5, reachable=False, stalled_seconds=15.0),
        {"deserted"},
        Verdict.NO_WORKER_PULLS,
    ),
    (
        "between two fetches",
        evidence(num_pending=5, reachable=False, stalled_seconds=4.0),
        set(),
        Verdict.OK,
    ),
    (
        "between two pulls that are usually half a minute apart",
        evidence(num_pending=5, reachable=False, stalled_seconds=89.0, no_worker_seconds=90.0),
        set(),
        Verdict.OK,
    ),
    (
        "several times the usual time between two pulls is over",
        evidence(num_pending=5, reachable=False, stalled_seconds=91.0, no_worker_seconds=90.0),
        {"deserted"},
        Verdict.NO_WORKER_PULLS,
    ),
    (
        "nothing was delivered for long, but a pull request waited a moment ago",
        evidence(num_pending=5, reachable=False, stalled_seconds=900.0, without_pull_seconds=9.0),
        set(),
        Verdict.OK,
    ),
    (
        "a batch was taken and is being worked on: no client needs to pull more",
        evidence(num_pending=5, num_ack_pending=20, reachable=False, stalled_seconds=29.0),
        set(),
        Verdict.OK,
    ),
    (
        "a batch was taken, and its time is over",
        evidence(num_pending=5, num_ack_pending=20, reachable=False, stalled_seconds=31.0),
        {"deserted"},
        Verdict.NO_WORKER_PULLS,
    ),
    (
        "a client requests and still nothing comes: that shows in stalled_seconds",
        evidence(num_pending=5, stalled_seconds=999.0, **points(backlog=[5] * 9)),
        set(),
        Verdict.OK,
    ),
    (
        "the backlog grew all the time",
        evidence(num_pending=100, **points(backlog=GROWING, **BUSY)),
        {"behind"},
        Verdict.FALLING_BEHIND,
    ),
    (
        "it fell once: it can catch up",
        evidence(num_pending=100, **points(backlog=[*GROWING[:5], 40, *GROWING[6:]], **BUSY)),
        set(),
        Verdict.OK,
    ),
    (
        "one message more than at all the polls before",
        evidence(num_pending=2, **points(backlog=[1] * 9 + [2], **BUSY)),
        set(),
        Verdict.OK,
    ),
    (
        "it was caught up within the window",
        evidence(num_pending=9, **points(backlog=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], **BUSY)),
        set(),
        Verdict.OK,
    ),
    (
        "growing, but watched too briefly",
        evidence(num_pending=9, **points(backlog=[1, 2, 3, 4, 5, 6], deliveries=[1, 2, 3, 4, 5, 6])),
        set(),
        Verdict.OK,
    ),
    (
        "a large backlog that is worked off is no fault",
        evidence(num_pending=10**6, **points(backlog=[2 * 10**6, 10**6], deliveries=[1, 10**6])),
        set(),
        Verdict.OK,
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "holding", "expected"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_each_situation_has_its_predicates_and_its_verdict(
    given: Evidence, holding: set[str], expected: Verdict
) -> None:
    assert {name for name, holds in PREDICATES.items() if holds(given)} == holding
    assert verdict(given) is expected


def test_every_predicate_and_every_verdict_of_a_living_consumer_is_in_the_table() -> None:
    assert {name for row in TABLE for name in row[2]} == set(PREDICATES)
    assert {row[3] for row in TABLE} == set(Verdict) - {Verdict.NO_LEADER}


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((None, None), None),
        ((None, Verdict.IDLE), Verdict.IDLE),
        ((Verdict.IDLE, Verdict.OK), Verdict.OK),
        ((Verdict.PAUSED, Verdict.FALLING_BEHIND), Verdict.FALLING_BEHIND),
        ((Verdict.ACK_FLOOR_STUCK, Verdict.ACK_PENDING_FULL), Verdict.ACK_PENDING_FULL),
        ((Verdict.NO_LEADER, Verdict.LOSING_MESSAGES), Verdict.NO_LEADER),
    ],
)
def test_of_several_the_worst_is_reported(
    verdicts: tuple[int | None, ...], expected: int | None
) -> None:
    assert worst(*verdicts) == expected
    assert worst(*reversed(verdicts)) == expected
