"""Input of the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from msgspec import Struct

from exporter.idle_schedule import IdleSchedule
from exporter.signals.conditions.limits import DEFAULT_LIMITS, Limits
from exporter.signals.delivery_stall import NO_WORKER_SECONDS
from exporter.signals.window import Point


class Evidence(Struct, frozen=True, gc=False):
    """One poll of a consumer that has a leader. Times are in the exporter's clock."""

    paused: bool
    push: bool | None  # None: no configuration
    reachable: bool  # a pull request waits, or a push consumer is bound
    num_pending: int
    num_ack_pending: int
    max_ack_pending: int | None
    ack_wait_seconds: float | None
    undelivered_since: float  # no delivery while messages are pending
    no_new_since: float  # no first delivery while messages are pending
    floor_since: float  # the ack floor is unchanged
    floor_exhausted: bool
    past: Sequence[Point]  # oldest first
    now: Point
    unpulled_since: float = -inf  # no waiting pull request while messages are pending
    no_worker_seconds: float = NO_WORKER_SECONDS  # several times the usual time between pulls
    at_work_until: float = -inf  # in-progress acks show work until then
    doubted_until: float = -inf  # until then a single sign leaves open whether that is so
    shows_work: bool = True  # in-progress acks would be visible
    behind_since: float | None = None  # the backlog grows
    rising_since: float | None = None  # it rose, but was not watched long enough to judge
    long_jobs_seconds: float = 0.0  # the owner: one message may take that long
    schedule: IdleSchedule | None = None  # the owner: when workers are expected
    busy: bool = False  # had deliveries nearly all of the day before it waits
    limits: Limits = DEFAULT_LIMITS
