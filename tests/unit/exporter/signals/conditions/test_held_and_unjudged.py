"""What ends a condition that holds, and what cannot be judged."""

from __future__ import annotations

import pytest
from support.exporter.evidence import FULL, STUCK, evidence, points
from support.exporter.models import NOW

from exporter.signals.conditions.evidence import Evidence
from exporter.signals.conditions.held import Held
from exporter.signals.conditions.judge import judge
from exporter.signals.conditions.words import Condition, Reason

HELD: list[tuple[str, Evidence, str, bool]] = [
    (
        "a client that pulls now and then has no request at this poll",
        evidence(num_pending=5, reachable=False, undelivered=70.0, no_worker_seconds=99.0),
        "stalled",
        True,
    ),
    (
        "a trickle does not end a full one",
        evidence(**FULL, no_new=5.0, **points(deliveries=[0, 4, 9])),
        "ack_pending_full",
        True,
    ),
    (
        "a tenth of the limit in the window is work",
        evidence(**FULL, no_new=5.0, **points(deliveries=[0, 4, 10])),
        "ack_pending_full",
        False,
    ),
    (
        "one ack among many naks does not end a loop",
        evidence(
            num_ack_pending=3,
            **points(deliveries=[0, 30, 60, 90], redeliveries=[0, 30, 60, 89], floor=[0, 0, 0, 70]),
        ),
        "redelivery_loop",
        True,
    ),
    (
        "messages get finished again",
        evidence(
            num_ack_pending=3,
            **points(
                deliveries=[0, 30, 60, 400], redeliveries=[0, 30, 60, 60], floor=[0, 0, 0, 390]
            ),
        ),
        "redelivery_loop",
        False,
    ),
    (
        "a loop with a few new messages",
        evidence(
            num_ack_pending=90,
            **points(deliveries=[0, 30, 60, 100], redeliveries=[0, 9, 18, 30]),
        ),
        "redelivery_loop",
        True,
    ),
    (
        "a single nak with a delay does not end a stuck floor",
        evidence(**STUCK, doubted_until=NOW + 5),
        "ack_floor_stuck",
        True,
    ),
    (
        "a job ended and a new one began",
        evidence(**FULL, no_new=2.0, at_work_until=NOW + 5),
        "long_jobs",
        True,
    ),
]


@pytest.mark.parametrize(
    ("given", "word", "holds"), [row[1:] for row in HELD], ids=[row[0] for row in HELD]
)
def test_what_holds_needs_more_to_end_than_to_begin_and_keeps_its_start(
    given: Evidence, word: str, holds: bool
) -> None:
    start: Held = ((word, NOW - 5000.0),)
    assert judge(given, ())[0] == ()
    found = tuple(each for each in judge(given, start)[0] if each[0] == word)
    assert found == (start if holds else ())


def test_a_start_never_jumps_while_the_condition_holds() -> None:
    first, _ = judge(evidence(num_pending=5, reachable=False, undelivered=15.0), ())
    later, _ = judge(evidence(num_pending=5, reachable=False, undelivered=11.0), first)
    assert later == first


UNJUDGED: list[tuple[str, Evidence, set[tuple[str, str]]]] = [
    (
        "without its configuration limits and kind are unknown",
        evidence(push=None, num_pending=5, reachable=False, undelivered=99.0, floor_age=9999.0,
                 num_ack_pending=1, ack_wait_seconds=None, max_ack_pending=None),
        {(word, Reason.NO_CONFIG) for word in
         {*Condition} - {"no_leader", "losing_messages", "falling_behind"}},
    ),
    (
        "a backlog that rises, but was watched too briefly",
        evidence(num_pending=9, rising_since=NOW - 30),
        {("falling_behind", Reason.TOO_YOUNG)},
    ),
    (
        "repeats for less than a minute prove nothing yet",
        evidence(num_ack_pending=3, **points(deliveries=[3, 99], redeliveries=[0, 90])),
        {("redelivery_loop", Reason.TOO_YOUNG)},
    ),
    (
        "a stuck floor, and deliveries would hide in-progress acks",
        evidence(**STUCK, shows_work=False),
        {("long_jobs", Reason.HIDDEN)},
    ),
    (
        "a single sign of work: an in-progress ack, or a nak with a delay",
        evidence(**STUCK, doubted_until=NOW + 5),
        {(word, Reason.TOO_YOUNG) for word in ("ack_pending_full", "ack_floor_stuck", "long_jobs")},
    ),
    ("in-progress acks are not visible, but nothing is stuck", evidence(shows_work=False), set()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "expected"), [row[1:] for row in UNJUDGED], ids=[row[0] for row in UNJUDGED]
)
def test_what_cannot_be_judged_is_reported_with_its_reason(
    given: Evidence, expected: set[tuple[str, str]]
) -> None:
    found, missing = judge(given, ())
    assert set(missing) == expected
    assert not {word for word, _ in missing} & {word for word, _ in found}


def test_a_loop_that_works_again_finishes_messages_at_once_and_not_after_the_window() -> None:
    looped = {
        "deliveries": [5, *range(105, 1000, 100)],
        "redeliveries": [0, *range(100, 1000, 100)],
        "floor": [0] * 10,
        "unacked": [5] * 10,
    }
    held: Held = (("redelivery_loop", NOW - 600.0), ("nothing_finished", NOW - 600.0))

    def after(deliveries: int, redeliveries: int, floor: int) -> set[str]:
        """Which still hold after the next half minute."""
        ends = {
            "deliveries": deliveries,
            "redeliveries": redeliveries,
            "floor": floor,
            "unacked": 5,
        }
        series = points(**{name: [*looped[name], ends[name]] for name in looped})
        kept, _ = judge(evidence(num_ack_pending=5, num_pending=900, **series), held)
        return {word for word, _ in kept}

    assert after(1005, 1000, 0) == {"redelivery_loop", "nothing_finished"}
    assert after(965, 920, 40) == {"redelivery_loop"}
    # Now and then one is finished: that is no work.
    assert after(1005, 998, 2) == {"redelivery_loop", "nothing_finished"}
