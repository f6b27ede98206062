"""An unchanged consumer is evaluated in full when time alone changes its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace
from support.exporter.models import NOW, at, consumer, stream, stream_config

from exporter.model import Consumer, Snapshot, Stream
from exporter.signals.engine import SignalState
from exporter.signals.results import ConsumerSignals
from exporter.signals.verdict import Verdict

KEY = ("APP", "ORDERS", "worker")
# Often enough that what is due at one moment and what is due at the next differ by several polls.
POLL = 5
STREAM = stream(
    created=at(NOW - 5000),
    first_seq=1,
    last_seq=20,
    messages=20,
    first_time=at(NOW - 1000),
    last_time=at(NOW - 900),
)

AGED = stream_config(max_age_seconds=950.0)  # the first messages are too old


def caught_up(sequence: int, deliveries: int, **changes: Any) -> Consumer:
    """All that was delivered is acked, and nothing waits."""
    plain: dict[str, Any] = {
        "created": at(NOW - 4000),
        "delivered_stream_seq": sequence,
        "delivered_consumer_seq": deliveries,
        "ack_floor_stream_seq": sequence,
        "ack_floor_consumer_seq": deliveries,
        "stream_first_seq": 1,
    }
    return consumer(**plain | changes)


@dataclass
class Watched:
    """One state, polled every five seconds, and its results by second."""

    state: SignalState = field(default_factory=SignalState)
    result: dict[int, ConsumerSignals] = field(default_factory=dict)
    saved: set[int] = field(default_factory=set)  # the seconds without a full evaluation

    def poll(self, row: Consumer, of: Stream = STREAM) -> None:
        second = len(self.result) * POLL
        state = self.state._consumers.get(KEY)
        if state is not None and NOW + second < state.valid_until:
            self.saved.add(second)
        snapshot = Snapshot("nats", NOW + second, streams=(of,), consumers=(row,))
        self.result[second] = self.state.update(snapshot).consumers[KEY]

    def stand(self, row: Consumer, of: Stream = STREAM, *, until: int) -> None:
        while len(self.result) * POLL <= until:
            self.poll(row, of)

    def last_second(self, field: str, value: object) -> int:
        """The last second with that result."""
        return max(
            second for second, result in self.result.items() if getattr(result, field) == value
        )


# The point that a move leaves in the window is thirty seconds younger than the one before it, and
# five minutes later the older one is forgotten.
FORGOTTEN = 30 + 300


def test_deliveries_are_forgotten_when_the_window_has_passed_them() -> None:
    seen = Watched()
    seen.poll(caught_up(10, 10), replace(STREAM, last_seq=10, messages=10))
    seen.stand(caught_up(12, 12), replace(STREAM, last_seq=12, messages=12), until=400)
    assert seen.saved >= set(range(40, FORGOTTEN, POLL))  # else this proves nothing
    assert seen.last_second("redelivery_ratio", 0.0) == FORGOTTEN - POLL
    assert seen.last_second("verdict", Verdict.OK) == FORGOTTEN - POLL
    assert (seen.result[FORGOTTEN].redelivery_ratio, seen.result[FORGOTTEN].verdict) == (
        None,
        Verdict.IDLE,
    )


def test_a_loss_is_forgotten_when_the_window_has_passed_it() -> None:
    seen, moved = Watched(), replace(STREAM, first_seq=15, messages=6)
    waiting = caught_up(10, 10, num_pending=10, num_waiting=1)
    seen.poll(waiting)
    lost = replace(waiting, stream_first_seq=15, num_pending=6)
    # Without a limit that may take messages it would be a purge.
    limited = replace(moved, config=AGED)
    seen.stand(lost, limited, until=400)
    assert seen.result[5].lost == 4
    assert seen.last_second("verdict", Verdict.LOSING_MESSAGES) == FORGOTTEN - POLL


# A doubt arises with the first move, at five seconds; no point of the window is due before FORGOTTEN.
ARISES = POLL
OVER = ARISES + 300


def test_a_doubt_about_redeliveries_is_over_when_the_window_has_passed_it() -> None:
    """A gap ahead: of what was delivered on the way past it only the least is known."""
    seen, gap = Watched(), replace(STREAM, messages=19)
    seen.poll(caught_up(10, 10, num_pending=9, num_waiting=1), gap)
    seen.stand(caught_up(20, 19), gap, until=400)
    assert seen.saved >= set(range(40, OVER, POLL))
    assert seen.last_second("redelivery_exact", 0) == OVER
    assert {result.lost_exact for result in seen.result.values()} == {1}  # nothing was removed


def test_a_doubt_about_losses_is_over_when_the_window_has_passed_it() -> None:
    """A purge, while a limit might have taken some of it too."""
    seen, limited = Watched(), replace(STREAM, config=AGED)
    seen.poll(caught_up(10, 10, num_pending=10, num_waiting=1), limited)
    purged = replace(limited, first_seq=15, messages=6)
    row = caught_up(14, 10, num_pending=6, num_waiting=1, stream_first_seq=15)
    seen.stand(row, purged, until=400)
    assert (seen.result[ARISES].purged, seen.result[ARISES].lost_upper) == (0, 4)
    assert seen.saved >= set(range(40, OVER, POLL)) - {60, 65}  # then it is stalled
    assert seen.last_second("lost_exact", 0) == OVER
    assert {result.redelivery_exact for result in seen.result.values()} == {1}
