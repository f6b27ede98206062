"""One table: for each situation every condition that holds, with the sentence that explains it."""

from __future__ import annotations

import pytest
from support.exporter.evidence import FULL, STUCK, evidence, points
from support.exporter.models import NOW

from exporter.idle_schedule import IdleSchedule
from exporter.signals.conditions.evidence import Evidence
from exporter.signals.conditions.judge import judge
from exporter.signals.conditions.rules import is_idle
from exporter.signals.conditions.words import RATIOS, Condition
from exporter.signals.verdict import Verdict, verdict

HOURLY = IdleSchedule(pause_seconds=3600.0)
NEVER_NOW = IdleSchedule(cron=(frozenset(),) * 5)
# Which conditions hold, and since how many seconds; the verdict.
TABLE: list[tuple[str, Evidence, dict[str, float], Verdict]] = [
    ("deliveries come and get acked", evidence(), {}, Verdict.OK),
    (
        "nothing to do and nothing done",
        evidence(**points(deliveries=[9, 9])),
        {},
        Verdict.IDLE,
    ),
    (
        "nothing to do now, but there was within the window",
        evidence(**points(deliveries=[5, 9, 9, 9])),
        {},
        Verdict.OK,
    ),
    (
        "paused: that nothing is delivered follows from it",
        evidence(paused=True, num_pending=90, reachable=False, undelivered=900.0),
        {},
        Verdict.PAUSED,
    ),
    (
        "paused while messages are lost: the verdict does not hide it",
        evidence(paused=True, **points(lost=[0, 1])),
        {"losing_messages": 0.0},
        Verdict.PAUSED,
    ),
    (
        "a message was lost within the window, and it also falls behind",
        evidence(behind_since=NOW - 600.0, **points(lost=[0] * 9 + [1])),
        {"losing_messages": 0.0, "falling_behind": 600.0},
        Verdict.LOSING_MESSAGES,
    ),
    (
        "a message was probably lost: only the upper bound grew",
        evidence(**points(lost_upper=[0, 3])),
        {"losing_messages": 0.0},
        Verdict.LOSING_MESSAGES,
    ),
    (
        "a loss of long ago is no news",
        evidence(**points(lost=[7, 7, 7], lost_upper=[9, 9, 9], deliveries=[1, 2, 3])),
        {},
        Verdict.OK,
    ),
    (
        "no capacity for a new message for longer than ack_wait",
        evidence(**FULL, no_new=31.0),
        {"ack_pending_full": 31.0},
        Verdict.ACK_PENDING_FULL,
    ),
    (
        "no capacity for a new message, but the owner declares long jobs",
        evidence(**FULL, no_new=1199.0, floor_age=1199.0, long_jobs_seconds=1200.0),
        {},
        Verdict.OK,
    ),
    (
        "no capacity for longer than the owner's long jobs",
        evidence(**FULL, no_new=1201.0, floor_age=1201.0, long_jobs_seconds=1200.0),
        {"ack_pending_full": 1201.0, "ack_floor_stuck": 1201.0},
        Verdict.ACK_PENDING_FULL,
    ),
    (
        "no worker pulls, within the pause that the owner declares",
        evidence(num_pending=5, reachable=False, undelivered=3599.0, schedule=HOURLY),
        {},
        Verdict.OK,
    ),
    (
        "no worker pulls for longer than the pause that the owner declares",
        evidence(num_pending=5, reachable=False, undelivered=3601.0, schedule=HOURLY),
        {"no_worker_pulls": 3601.0},
        Verdict.NO_WORKER_PULLS,
    ),
    (
        "a backlog grows between two workers of the owner's schedule",
        evidence(behind_since=NOW - 600.0, num_pending=5, schedule=HOURLY),
        {},
        Verdict.OK,
    ),
    (
        "no worker pulls outside the owner's schedule",
        evidence(num_pending=5, reachable=False, undelivered=3601.0, schedule=NEVER_NOW),
        {},
        Verdict.OK,
    ),
    (
        "working at its limit: each finished message allows a new one",
        evidence(**FULL, no_new=15.0),
        {},
        Verdict.OK,
    ),
    (
        "full, but nothing more waits",
        evidence(num_ack_pending=100, no_new=3000.0),
        {},
        Verdict.OK,
    ),
    (
        "full for the whole window although ack_wait is an hour",
        evidence(**FULL, no_new=301.0, ack_wait_seconds=3600.0),
        {"ack_pending_full": 301.0},
        Verdict.ACK_PENDING_FULL,
    ),
    (
        "without a limit it cannot be full",
        evidence(num_ack_pending=5000, num_pending=5, no_new=999.0, max_ack_pending=None),
        {},
        Verdict.OK,
    ),
    (
        "three messages again and again, and none is finished",
        evidence(
            num_ack_pending=3,
            **points(deliveries=[3, 6, 9], redeliveries=[0, 3, 6], floor=[0, 0, 0]),
        ),
        {"nothing_finished": 60.0, "redelivery_loop": 60.0},
        Verdict.REDELIVERY_LOOP,
    ),
    (
        "refused again and again, and the few that come anew are not finished either",
        evidence(
            num_ack_pending=9,
            **points(
                deliveries=[3, 20, 40], redeliveries=[0, 14, 31], floor=[0, 0, 0], unacked=[3, 6, 9]
            ),
        ),
        {"nothing_finished": 60.0, "redelivery_loop": 60.0},
        Verdict.REDELIVERY_LOOP,
    ),
    (
        "three messages again and again, until max_deliver ended it",
        evidence(**points(deliveries=[3, 6, 9], redeliveries=[0, 3, 6], floor=[0, 0, 0])),
        {},
        Verdict.OK,
    ),
    (
        "well until three minutes ago, then every message is refused",
        evidence(
            num_ack_pending=20,
            **points(
                deliveries=[0, 90, 180, 270, 360, 420, 480, 540, 600, 660, 720],
                redeliveries=[0, 0, 0, 0, 0, 60, 120, 180, 240, 300, 360],
                floor=[0, 90, 180, 270, 340, 340, 340, 340, 340, 340, 340],
            ),
        ),
        {"redelivery_loop": 180.0},
        Verdict.REDELIVERY_LOOP,
    ),
    (
        "the worker was restarted: everything once again, but only once",
        evidence(
            num_ack_pending=50,
            **points(deliveries=[50, 100, 100], redeliveries=[0, 50, 50], floor=[0, 0, 0]),
        ),
        {},
        Verdict.OK,
    ),
    (
        "many repeats, but messages get finished",
        evidence(
            num_ack_pending=3,
            **points(deliveries=[3, 6, 9], redeliveries=[0, 3, 6], floor=[0, 1, 2]),
        ),
        {},
        Verdict.OK,
    ),
    (
        "the floor is unchanged for more than ten times ack_wait, others get through",
        evidence(**STUCK),
        {"ack_floor_stuck": 301.0},
        Verdict.ACK_FLOOR_STUCK,
    ),
    (
        "the same, but the message at the floor was given up: nothing waits for it",
        evidence(**STUCK, floor_exhausted=True),
        {},
        Verdict.OK,
    ),
    (
        "without acks there is no floor to be stuck",
        evidence(num_ack_pending=1, ack_wait_seconds=None, floor_age=9999.0),
        {},
        Verdict.OK,
    ),
    (
        "messages wait, no client requests, and it was busy all day",
        evidence(num_pending=5, reachable=False, undelivered=15.0, busy=True),
        {"workers_gone": 15.0, "no_worker_pulls": 15.0},
        Verdict.NO_WORKER_PULLS,
    ),
    (
        "a push consumer that was busy has no subscriber",
        evidence(num_pending=5, push=True, reachable=False, undelivered=15.0, busy=True),
        {"workers_gone": 15.0, "not_bound": 15.0},
        Verdict.NO_WORKER_PULLS,
    ),
    (
        "messages wait, no client requests",
        evidence(num_pending=5, reachable=False, undelivered=15.0),
        {"no_worker_pulls": 15.0},
        Verdict.NO_WORKER_PULLS,
    ),
    (
        "messages wait, no subscriber is bound",
        evidence(num_pending=5, push=True, reachable=False, undelivered=15.0),
        {"not_bound": 15.0},
        Verdict.NO_WORKER_PULLS,
    ),
    (
        "between two fetches",
        evidence(num_pending=5, reachable=False, undelivered=4.0),
        {},
        Verdict.OK,
    ),
    (
        "between two pulls that are usually half a minute apart",
        evidence(num_pending=5, reachable=False, undelivered=89.0, no_worker_seconds=90.0),
        {},
        Verdict.OK,
    ),
    (
        "several times the usual time between two pulls is over",
        evidence(num_pending=5, reachable=False, undelivered=91.0, no_worker_seconds=90.0),
        {"no_worker_pulls": 91.0},
        Verdict.NO_WORKER_PULLS,
    ),
    (
        "nothing was delivered for long, but a pull request waited a moment ago",
        evidence(num_pending=5, reachable=False, undelivered=900.0, unpulled=9.0),
        {},
        Verdict.OK,
    ),
    (
        "a batch was taken and is being worked on: no client needs to pull more",
        evidence(num_pending=5, num_ack_pending=20, reachable=False, undelivered=29.0),
        {},
        Verdict.OK,
    ),
    (
        "workers crashed with one message in flight",
        evidence(
            num_pending=5, num_ack_pending=1, reachable=False, undelivered=400.0, floor_age=410.0
        ),
        {"ack_floor_stuck": 410.0, "no_worker_pulls": 400.0},
        Verdict.ACK_FLOOR_STUCK,
    ),
    (
        "a client requests and still nothing comes",
        evidence(num_pending=5, undelivered=61.0, **points(backlog=[5] * 9)),
        {"stalled": 61.0},
        Verdict.STALLED,
    ),
    (
        "a minute may pass",
        evidence(num_pending=5, undelivered=60.0, **points(backlog=[5] * 9)),
        {},
        Verdict.OK,
    ),
    (
        "a standby requests while another works on all that max_ack_pending allows",
        evidence(
            num_pending=5, num_ack_pending=1, max_ack_pending=1, undelivered=299.0, no_new=29.0
        ),
        {},
        Verdict.OK,
    ),
    (
        "the backlog grows",
        evidence(num_pending=100, behind_since=NOW - 240.0),
        {"falling_behind": 240.0},
        Verdict.FALLING_BEHIND,
    ),
    (
        "full of jobs whose time the workers extend, each for hours",
        evidence(**FULL, no_new=2000.0, reachable=False, undelivered=2000.0, floor_age=2100.0,
                 at_work_until=NOW + 5),
        {"long_jobs": 2100.0},
        Verdict.LONG_JOBS,
    ),
    (
        "one long job, and the backlog grows behind it",
        evidence(**STUCK, at_work_until=NOW, behind_since=NOW - 700),
        {"falling_behind": 700.0, "long_jobs": 301.0},
        Verdict.FALLING_BEHIND,
    ),
    (
        "the last in-progress ack is too long ago",
        evidence(**STUCK, at_work_until=NOW - 1),
        {"ack_floor_stuck": 301.0},
        Verdict.ACK_FLOOR_STUCK,
    ),
    (
        "in-progress acks of short jobs are no condition",
        evidence(num_ack_pending=5, at_work_until=NOW + 60),
        {},
        Verdict.OK,
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "holding", "expected"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_each_situation_has_its_conditions_and_its_verdict(
    given: Evidence, holding: dict[str, float], expected: Verdict
) -> None:
    found, missing = judge(given, ())
    assert found == tuple((word, NOW - age) for word, age in holding.items())
    assert missing == ()
    assert verdict(found, paused=given.paused, idle=is_idle(given)) is expected


def test_every_condition_and_every_verdict_of_a_consumer_with_a_leader_is_in_the_table() -> None:
    judged = {each for each in Condition if each not in RATIOS} - {Condition.NO_LEADER}
    assert {word for row in TABLE for word in row[2]} == judged
    assert {row[3] for row in TABLE} == set(Verdict) - {Verdict.NO_LEADER}
