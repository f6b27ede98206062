"""The numbers behind a verdict, in words."""

import pytest

from exporter.model import Consumer
from exporter.pages.status.evidence import evidence
from exporter.signals.results import ConsumerSignals
from exporter.signals.verdict import Verdict


def row(**changes: object) -> Consumer:
    return Consumer("APP", "ORDERS", "worker", True, "", "n1", None, **changes)  # type: ignore[arg-type]


def signals_of(verdict: Verdict | None, **changes: object) -> ConsumerSignals:
    return ConsumerSignals(0, 0, 0, verdict, 0.0, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("signals", "words"),
    [
        (signals_of(None), ""),
        (signals_of(Verdict.OK, lag=0.0), ""),
        (signals_of(Verdict.OK, lag=4.0), ""),
        (signals_of(Verdict.OK, lag=75.0), "oldest unfinished 1 min old"),
        (signals_of(Verdict.LOSING_MESSAGES, lost=1200), "1,200 lost before delivery"),
        (
            signals_of(Verdict.REDELIVERY_LOOP, redelivery_ratio=0.75),
            "75% of deliveries are redeliveries",
        ),
        (
            signals_of(Verdict.NO_WORKER_PULLS, stalled=3700.0),
            "no pull request waits, nothing delivered for 1 h 1 min",
        ),
        (
            signals_of(Verdict.ACK_PENDING_FULL, floor_stalled=600.0),
            "ack floor unchanged for 10 min",
        ),
        (
            signals_of(Verdict.LONG_JOBS, floor_stalled=1080.0),
            "in-progress acks extend ack_wait, ack floor unchanged for 18 min",
        ),
        (
            signals_of(Verdict.OK, floor_exhausted=1),
            "ack floor held by messages that reached max_deliver",
        ),
        (signals_of(Verdict.PAUSED, stalled=0.0), ""),
    ],
)
def test_a_verdict_comes_with_its_numbers(signals: ConsumerSignals, words: str) -> None:
    assert evidence(row(), signals) == words


def test_without_a_leader_the_reason_is_reported() -> None:
    silent = Consumer("APP", "ORDERS", "worker", False, "server_down", "", None)
    assert evidence(silent, signals_of(Verdict.NO_LEADER)) == "server down"
