"""Messages wait and none is delivered, or no new one."""

from __future__ import annotations

from typing import Any

from support.exporter.models import NOW, consumer

from exporter.model import Consumer
from exporter.signals.delivery_stall import DeliveryState, next_delivery_state, stalled_seconds


def row(deliveries: int, seq: int, pending: int, **changes: Any) -> Consumer:
    return consumer(
        delivered_consumer_seq=deliveries,
        delivered_stream_seq=seq,
        num_pending=pending,
        **changes,
    )


def followed(*polls: tuple[Consumer, float]) -> DeliveryState:
    state = None
    for seen, when in polls:
        state = next_delivery_state(state, seen, when)
    assert state is not None
    return state


def test_time_counts_while_messages_wait_and_none_is_delivered() -> None:
    state = followed((row(5, 5, 9), NOW), (row(5, 5, 12), NOW + 15), (row(5, 5, 20), NOW + 30))
    assert stalled_seconds(state, row(5, 5, 20), NOW + 30) == 30.0


def test_a_delivery_ends_the_stall() -> None:
    state = followed((row(5, 5, 9), NOW), (row(6, 6, 12), NOW + 15))
    assert stalled_seconds(state, row(6, 6, 12), NOW + 15) == 0.0


def test_caught_up_or_paused_is_no_stall() -> None:
    idle, paused = row(5, 5, 0), row(5, 5, 9, paused=True)
    state = followed((row(5, 5, 9), NOW), (idle, NOW + 600))
    assert stalled_seconds(state, idle, NOW + 600) == 0.0
    state = followed((row(5, 5, 9), NOW), (paused, NOW + 600))
    assert stalled_seconds(state, paused, NOW + 600) == 0.0
    # What waits afterwards has not waited since before.
    state = next_delivery_state(state, row(5, 5, 9), NOW + 615)
    assert stalled_seconds(state, row(5, 5, 9), NOW + 615) == 15.0


def test_repeats_are_deliveries_but_nothing_new() -> None:
    state = followed((row(5, 5, 9), NOW), (row(9, 5, 9), NOW + 60))
    assert (state.since, state.new_since) == (NOW + 60, NOW)
