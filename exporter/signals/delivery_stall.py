"""Time since the last delivery while messages are pending, and how long such times usually are."""

from __future__ import annotations

from math import inf

from msgspec import Struct

from exporter.model import Consumer
from exporter.tempo import scaled

# Below this many ended stalls, the time between two pulls is not known well.
_KNOWN_STALLS = 2
_KEPT_STALLS = 4
# A longer stall is an outage, not the time between two pulls. A job of each hour is not always on time.
_MAX_STALL_SECONDS = scaled(4200.0)
# Between two fetches a healthy client has no pull request, but not for this long.
NO_WORKER_SECONDS = 10.0
_UNKNOWN_SECONDS = scaled(60.0)
_SEVERAL = 3
# One known stall may have been an outage: several times as much is believed up to this time.
_BELIEVED_SECONDS = scaled(900.0)


class DeliveryState(Struct, gc=False):
    deliveries: int
    position: int
    since: float  # last poll with a delivery, or without pending messages
    new_since: float  # the same for first deliveries only
    pulled: float  # last poll with a waiting pull request, or without pending messages
    stalls: tuple[float, ...] = ()  # seconds of the last stalls that a delivery ended


def next_delivery_state(
    state: DeliveryState | None, row: Consumer, now: float, *, since: float | None = None
) -> DeliveryState:
    """`since`: for the first poll of a consumer, since when nothing is delivered."""
    delivered, position = row.delivered_consumer_seq, row.delivered_stream_seq
    stalls: tuple[float, ...] = ()
    if state is not None:
        if state.deliveries != delivered:
            _note_stall(state, now)
        stalls = state.stalls
    if state is None or row.paused or row.num_pending == 0 or state.since > now:
        start = now if since is None else since
        pulled = now if row.num_waiting > 0 else start
        return DeliveryState(delivered, position, start, start, pulled, stalls)
    if state.deliveries != delivered:
        state.deliveries, state.since = delivered, now
    if state.position != position:
        state.position, state.new_since = position, now
    if row.num_waiting > 0:
        state.pulled = now
    return state


def _note_stall(state: DeliveryState, now: float) -> None:
    """Keeps how long messages waited for the delivery of this poll."""
    stall = now - max(state.since, state.pulled)
    if stall == -inf:  # idle until then: no poll saw the message wait
        stall = _UNKNOWN_SECONDS / _SEVERAL
    if 0.0 < stall <= _MAX_STALL_SECONDS:
        state.stalls = (*state.stalls, stall)[-_KEPT_STALLS:]


def no_worker_deadline(state: DeliveryState) -> float:
    """Seconds without a delivery after which no worker pulls: several times the usual ones.

    The longest of the last stalls does not count: it may have been an outage.
    """
    stalls = state.stalls
    if len(stalls) < _KNOWN_STALLS:
        plain = _UNKNOWN_SECONDS if state.deliveries > 0 else NO_WORKER_SECONDS
        return max(plain, min(_SEVERAL * max(stalls, default=0.0), _BELIEVED_SECONDS))
    return max(NO_WORKER_SECONDS, _SEVERAL * sorted(stalls)[-2])


def known_while_idle(state: DeliveryState | None) -> DeliveryState | None:
    """Keeps the time between pulls where it is long, and no start: idle time is no stall."""
    if state is None or no_worker_deadline(state) <= _UNKNOWN_SECONDS:
        return None
    state.since = state.new_since = state.pulled = inf
    return state


def stalled_seconds(state: DeliveryState, row: Consumer, now: float) -> float:
    """0 when paused or caught up."""
    if row.paused or row.num_pending == 0:
        return 0.0
    return now - state.since if now > state.since else 0.0
