"""State of streams and consumers between two polls."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from exporter import catalog
from exporter.model import Consumer, ConsumerConfig, Stream, StreamConfig
from exporter.signals.ack_floor import FloorState
from exporter.signals.conditions.backlog_trend import BacklogTrend
from exporter.signals.conditions.held import Held
from exporter.signals.conditions.work_in_progress import WorkState
from exporter.signals.coverage import sees_everything
from exporter.signals.delivery_stall import DeliveryState
from exporter.signals.event_count import EventCounters
from exporter.signals.events_input import ConsumerKey, EventsInput
from exporter.signals.filtered_redeliveries import CountState
from exporter.signals.lag import StreamTimes
from exporter.signals.loss_accounting import position
from exporter.signals.results import ConsumerSignals
from exporter.signals.retention import removes_oldest
from exporter.signals.stream_changes import (
    NO_CHANGE,
    StreamChange,
    is_gapless,
    limits_may_remove,
    overwrites_by_design,
    removed_messages,
    stream_change,
)
from exporter.signals.verdict import Verdict
from exporter.signals.window import Window

NEVER = float("-inf")
# Replicas of a stream remove expired messages within this time of each other.
REPLICA_SKEW_SECONDS = 5.0


class StreamShape(Struct, frozen=True, gc=False):
    """The settings that decide whether positions in the stream count messages."""

    subjects: tuple[str, ...]
    overwrites: bool


class StreamView(Struct, frozen=True, gc=False):
    """The values of a stream that its consumers need in this poll."""

    row: Stream
    times: StreamTimes
    server_now: float
    shape: StreamShape
    gapless: bool
    limits_may_remove: bool
    acks_remove: bool  # a work queue or an interest stream
    near_limit: bool  # limits remove the oldest messages, or are about to
    removed: int
    steady: bool  # not recreated, and its sequence did not go back
    last_seq_before: int  # at the previous poll, so older than the consumers' values


class StreamState(EventCounters, gc=False):
    row: Stream  # the last row from its leader
    seen: float = 0.0  # time of the last response that listed it
    times: StreamTimes = field(default_factory=StreamTimes)
    shape: StreamShape | None = None
    observed_at: float = NEVER  # leader's clock
    limited_at: float = NEVER  # leader's clock; when limits may last have removed messages

    def observe(self, row: Stream, server_now: float) -> StreamView:
        """`row` comes from the stream's leader. At the first poll it is the row in the state."""
        before = self.row
        change = stream_change(before, row, server_now)
        if change is not NO_CHANGE:
            self._count(change)
        steady = not (change.recreated or change.regressed)
        if not steady:
            self.times.clear()
        self.times.note(row, server_now)
        self.row = row
        return StreamView(
            row,
            self.times,
            server_now,
            self._shape(row.config),
            is_gapless(row),
            self._limits_may_remove(before, row, server_now),
            row.config is not None and row.config.retention != "limits",
            removes_oldest(row),
            removed_messages(before, row),
            steady,
            min(before.last_seq, row.last_seq) if steady else 0,
        )

    def _limits_may_remove(self, before: Stream, row: Stream, server_now: float) -> bool:
        """Whether limits may have removed messages since the poll before the previous one.

        Each replica applies limits on its own. A consumer's leader may report the removal one
        poll later than the stream's leader.
        """
        if limits_may_remove(before, row, server_now):
            self.limited_at = server_now
        oldest = min(self.observed_at, server_now - REPLICA_SKEW_SECONDS)
        self.observed_at = server_now
        return self.limited_at >= oldest and self.limited_at > NEVER

    def _shape(self, config: StreamConfig | None) -> StreamShape:
        """Returns the same object until it changes: consumers compare it by identity."""
        shape = StreamShape(config.subjects if config else (), overwrites_by_design(config))
        if self.shape is None or self.shape != shape:
            self.shape = shape
        return self.shape

    def _count(self, change: StreamChange) -> None:
        now = self.seen
        self.add(catalog.STREAM_RECREATED, change.recreated, now)
        self.add(catalog.STREAM_SEQUENCE_REGRESSIONS, change.regressed, now)
        self.add(catalog.STREAM_LEADER_CHANGES, change.leader_changed, now)
        self.add(catalog.STREAM_PURGED_MESSAGES, change.purged, now)


class ConsumerState(EventCounters, gc=False):
    key: ConsumerKey
    row: Consumer | None = None  # the last row from its leader
    seen: float = 0.0
    polls: int = 0  # since the exporter saw it created
    redeliveries: int = 0
    lost_upper: int = 0
    conditions: Held = ()  # of the last poll that could judge them
    verdict: Verdict | None = None
    verdict_since: float = 0.0
    position: int = 0  # never goes back, also with a new leader
    nothing_missing: bool = False  # ahead of the position, at the last poll
    finished: int = 0  # everything up to this sequence is finished
    redelivered_bounded: float = NEVER  # when an interval last gave only a bound
    lost_bounded: float = NEVER
    floor: FloorState | None = None
    passed: int = 0  # exhausted messages behind the floor when it was last level
    trend: BacklogTrend | None = None
    work: WorkState | None = None
    deliveries: DeliveryState | None = None
    counts: CountState | None = None
    window: Window = field(default_factory=Window)
    # Comparing subjects is expensive: repeat it only when one of these changes.
    config: ConsumerConfig | None = None
    shape: StreamShape | None = None
    counts_messages: bool = False  # result of by_position for them
    result: ConsumerSignals | None = None  # of the last poll, if the consumer is idle or unchanged
    idle: bool = False  # then the result holds until a value changes
    valid_until: float = NEVER  # until then only ages in the result can change

    @property
    def lost(self) -> int:
        return self.total(catalog.CONSUMER_LOST_MESSAGES)

    @property
    def purged(self) -> int:
        return self.total(catalog.CONSUMER_PURGED_MESSAGES)

    @property
    def durable(self) -> bool:
        return self.row is not None and self.row.config is not None and self.row.config.durable

    def by_position(self, row: Consumer, view: StreamView) -> bool:
        """Whether positions of this consumer count messages, by configuration."""
        if self.shape is not view.shape or self.config is not row.config:
            self.shape, self.config = view.shape, row.config
            self.counts_messages = counts_messages(row.config, view)
        return self.counts_messages

    def restart(self, row: Consumer) -> None:
        """For a new consumer, and for one that was recreated or reset."""
        self.polls = 0
        self.position = position(row)
        self.finished = 0
        self.floor = self.deliveries = self.counts = self.trend = self.work = None
        self.passed, self.conditions = 0, ()
        self.redelivered_bounded = self.lost_bounded = NEVER
        self.window.clear()


class Observation(Struct, frozen=True, gc=False):
    """One poll of a consumer that has a leader and whose stream has one."""

    row: Consumer
    view: StreamView
    now: float  # exporter's clock
    events: EventsInput
    clocks: Mapping[str, float]  # by server: its clock minus the exporter's


def counts_messages(config: ConsumerConfig | None, view: StreamView) -> bool:
    return (
        config is not None
        and config.deliver_policy != "last_per_subject"
        and not view.shape.overwrites
        and sees_everything(config, view.row.config)
    )
