"""Conditions on shares: at the threshold, just below it, and the healthy patterns that look alike."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.exporter.models import NOW, at, consumer, consumer_config, stream, stream_config

from exporter.model import Snapshot, Thresholds
from exporter.signals.conditions.limits import Limits
from exporter.signals.conditions.ratios import Shares, lowest_share, update_headroom, update_ratios
from exporter.signals.conditions.words import Condition
from exporter.signals.engine import SignalState
from exporter.signals.events_input import NO_EVENTS
from exporter.signals.state import ConsumerState, Observation
from exporter.signals.window import Point

KEY = ("APP", "ORDERS", "worker")
WINDOW = 300.0
# Of five minutes.
BUSY: dict[str, Any] = {"deliveries": 1000, "redeliveries": 0, "naks": 0, "unacked": 0}


def words(
    shares: dict[str, Any] | None = None,
    *,
    before: tuple[str, ...] = (),
    behind: bool = False,
    config: dict[str, Any] | None = None,
    **row: Any,
) -> set[str]:
    """The conditions after a window that began with nothing."""
    values = {**BUSY, **{k: v for k, v in (shares or {}).items() if k in BUSY}}
    state = ConsumerState(KEY)
    state.ratios = tuple((word, NOW - 900) for word in before)
    state.conditions = ((Condition.FALLING_BEHIND, NOW),) if behind else ()
    state.window.note(Point(NOW - WINDOW, 0, 0, 0, 0, 0, unacked=values["unacked"]))
    point = Point(
        NOW, values["deliveries"], values["redeliveries"], 0, 0, 0, None, values["naks"], 0,
        values["unacked"],
    )  # fmt: skip
    rest: dict[str, Any] = {"headroom": None, "floor_exhausted": False, "listening": True}
    rest["limits"] = Limits()
    rest |= {k: v for k, v in (shares or {}).items() if k in rest}
    polled = consumer(config=consumer_config(**(config or {})), **row)
    observation = Observation(polled, None, NOW, NO_EVENTS, {})  # type: ignore[arg-type]
    update_ratios(state, observation, Shares(point, **rest))
    return {word for word, _ in state.ratios}


@pytest.mark.parametrize(
    ("redeliveries", "before", "found"),
    [
        (100, (), set()),
        (101, (), {"redelivery_high"}),
        (51, ("redelivery_high",), {"redelivery_high"}),
        (50, ("redelivery_high",), set()),
    ],
)
def test_a_tenth_of_the_deliveries_is_too_much(
    redeliveries: int, before: tuple[str, ...], found: set[str]
) -> None:
    assert words({"redeliveries": redeliveries}, before=before) == found


def test_few_deliveries_are_no_share() -> None:
    assert words({"deliveries": 29, "redeliveries": 20}) == set()
    assert words({"deliveries": 30, "redeliveries": 20}) == {"redelivery_high"}


TIMERS = {"deliveries": 600, "redeliveries": 300, "naks": 300, "unacked": 20}


def test_naks_with_a_delay_as_a_schedule_are_work() -> None:
    """Each message comes twice and is then finished."""
    assert words(TIMERS) == set()
    # Three naks a message are more than half of the deliveries.
    often = {"deliveries": 1200, "redeliveries": 900, "naks": 900, "unacked": 60}
    assert words(often) == set()


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"naks": 200}, {"redelivery_high"}),  # a third of the redeliveries has another cause
        ({"listening": False}, {"redelivery_high"}),  # naks are not known
        ({"deliveries": 9000, "redeliveries": 8700, "naks": 8700}, {"redelivery_high", "nak_loop"}),
    ],
)
def test_what_looks_like_a_schedule_and_is_none(changes: dict[str, Any], found: set[str]) -> None:
    assert words({**TIMERS, **changes}) == found


def test_a_schedule_that_falls_behind_is_reported() -> None:
    assert words(TIMERS, behind=True) == {"redelivery_high"}


def test_late_acks_explain_redeliveries() -> None:
    """Little's law: 51 in flight at 3.4 a second are 15 seconds each, half of ack_wait."""
    late = {"deliveries": 1000, "redeliveries": 200}
    assert words({**late, "unacked": 50}) == {"redelivery_high"}
    assert words({**late, "unacked": 51}) == {"acks_late"}
    assert words({**late, "unacked": 41}, before=("acks_late",)) == {"acks_late"}
    assert words({**late, "unacked": 51, "naks": 30}) == {"redelivery_high"}


@pytest.mark.parametrize(
    ("row", "config", "found"),
    [
        ({"num_ack_pending": 799}, {}, set()),
        ({"num_ack_pending": 800}, {}, {"ack_pending_high"}),
        ({"num_ack_pending": 9}, {"max_ack_pending": 9}, set()),
        (
            {"num_ack_pending": 800},
            {"thresholds": Thresholds((("outstanding-ack-critical", 950.0),))},
            set(),
        ),
        ({"num_ack_pending": 1, "delivered_consumer_seq": 5000}, {}, set()),
        ({"num_ack_pending": 1, "delivered_consumer_seq": 5001}, {}, {"ack_floor_gap_high"}),
        (
            {"num_ack_pending": 1, "delivered_consumer_seq": 100_001},
            {"max_ack_pending": None},
            {"ack_floor_gap_high"},
        ),
        ({"num_redelivered": 2}, {"max_deliver": 5}, {"messages_abandoned"}),
        ({"num_redelivered": 2}, {}, set()),
        ({"num_redelivered": 2, "num_ack_pending": 2}, {"max_deliver": 5}, set()),
        ({"paused": True, "num_pending": 1}, {}, {"paused_backlog"}),
        ({"paused": True}, {}, set()),
    ],
)
def test_each_row_has_its_conditions(
    row: dict[str, Any], config: dict[str, Any], found: set[str]
) -> None:
    assert words(config=config, **row) == found


def test_an_exhausted_message_explains_the_gap() -> None:
    row = {"num_ack_pending": 1, "delivered_consumer_seq": 5001}
    assert words({"floor_exhausted": True}, **row) == set()


# --- headroom -------------------------------------------------------------------------------------


def headrooms(*values: float | None) -> list[float | None]:
    """Since how many seconds it is low, at polls five minutes apart."""
    state, found = ConsumerState(KEY), []
    for place, left in enumerate(values):
        now = NOW + 300 * place
        update_headroom(state, left, now)
        found.append(next((now - since for _, since in state.ratios), None))
    return found


def test_the_headroom_is_low_while_it_falls() -> None:
    assert headrooms(0.3, 0.19, 0.15, 0.1, 0.3) == [None, None, 300.0, 600.0, None]


def test_a_consumer_that_stays_far_behind_is_not_falling() -> None:
    assert headrooms(0.1, 0.1, 0.12, 0.11) == [None, None, None, 300.0]
    assert headrooms(0.1, 0.05, 0.05, 0.05) == [None, 300.0, None, None]


OFTEN = {"deliveries": 9000, "redeliveries": 8700, "naks": 8700}


@pytest.mark.parametrize(
    ("limit", "shares", "row", "word"),
    [
        (Limits(redelivery_ratio=0.2), {"redeliveries": 101}, {}, "redelivery_high"),
        (Limits(deliveries_least=2000), {"redeliveries": 101}, {}, "redelivery_high"),
        (Limits(nak_ratio=0.99), OFTEN, {}, "nak_loop"),
        (Limits(ack_pending_ratio=0.9), {}, {"num_ack_pending": 850}, "ack_pending_high"),
        (Limits(ack_pending_window_least=2000), {}, {"num_ack_pending": 850}, "ack_pending_high"),
    ],
)
def test_the_settings_of_the_exporter_decide(
    limit: Limits, shares: dict[str, Any], row: dict[str, Any], word: str
) -> None:
    config = {"max_ack_pending": 1000}
    assert word in words(shares, config=config, **row)
    assert word not in words({**shares, "limits": limit}, config=config, **row)


def test_with_nothing_left_it_lasts() -> None:
    assert headrooms(0.0, 0.0, 0.0, None) == [0.0, 300.0, 600.0, None]


def test_the_lower_of_both_shares_counts_and_buckets_have_none() -> None:
    aged = stream_config(max_age_seconds=100.0)
    assert lowest_share(30.0, None, aged) == 0.3
    assert lowest_share(30.0, 0.2, aged) == 0.2
    assert lowest_share(None, 0.2, stream_config()) == 0.2
    assert lowest_share(30.0, None, replace(aged, kind="kv")) is None
    assert lowest_share(30.0, None, None) is None


def test_the_headroom_of_an_unchanged_consumer_is_judged_at_every_poll() -> None:
    state = SignalState()
    aged = stream_config(max_age_seconds=3600.0)
    times = {"first_time": at(NOW), "last_time": at(NOW)}
    of = stream(config=aged, messages=10, first_seq=1, last_seq=10, **times)
    row = consumer(num_pending=10, stream_first_seq=1)
    held: set[str] = set()
    for poll in range(240):
        now = NOW + 15.0 * poll
        snapshot = Snapshot("nats", now, streams=(of,), consumers=(row,))
        held = {word for word, _ in state.update(snapshot).consumers[KEY].conditions}
    assert "headroom_low" in held
