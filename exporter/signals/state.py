"""State of streams and consumers between two polls."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from exporter import catalog
from exporter.model import Consumer, ConsumerConfig, Stream, StreamConfig
from exporter.signals.ack_floor import FloorState
from exporter.signals.conditions.backlog_trend import BacklogTrend
from exporter.signals.conditions.busy_hours import BusyHours
from exporter.signals.conditions.held import Held
from exporter.signals.conditions.limits import DEFAULT_LIMITS, Limits
from exporter.signals.conditions.work_in_progress import WorkState
from exporter.signals.delivery_stall import DeliveryState
from exporter.signals.event_count import EventCounters
from exporter.signals.events_input import ConsumerKey, EventsInput
from exporter.signals.lag import StreamTimes
from exporter.signals.loss.accounting import position
from exporter.signals.loss.cohorts import Cohort
from exporter.signals.loss.coverage import is_unfiltered, sees_everything
from exporter.signals.loss.filtered_redeliveries import CountState
from exporter.signals.results import ConsumerSignals
from exporter.signals.retention import removes_oldest
from exporter.signals.stream_changes import (
    NO_CHANGE,
    PollTimes,
    StreamChange,
    explained_by_limits,
    gaps,
    is_emptier_than_limits_leave_it,
    is_gapless,
    limits_remove,
    new_gaps,
    overwrites_by_design,
    removed_by_limits,
    removed_messages,
    stream_change,
    unused_seqs,
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
    stored_elsewhere: bool  # a mirror, sources or transforms: other subjects than configured
    known: bool  # the configuration is known


class StreamView(Struct, frozen=True, gc=False):
    """The values of a stream that its consumers need in this poll."""

    row: Stream
    times: StreamTimes
    server_now: float
    shape: StreamShape
    gapless: bool
    acks_remove: bool  # a work queue or an interest stream
    near_limit: bool  # limits remove the oldest messages, or are about to
    may_lose: bool  # it has limits that remove messages
    by_limits: int  # at most so many were removed by limits
    purge_seen: bool  # more were removed than by limits
    removed: int
    unused: int  # sequences that a purge skipped
    gaps: int
    gaps_before: int
    steady: bool  # not recreated, and its sequence did not go back
    last_seq_before: int  # at the previous poll, so older than the consumers' values
    last_seq_earlier: int  # at the poll before that
    still: bool  # as at the last two polls
    deleted: int  # single messages, as gaps showed, since the first poll: at most
    deleted_before: int
    deleted_earlier: int


class StreamState(EventCounters, gc=False):
    row: Stream  # the last row from its leader
    seen: float = 0.0  # time of the last response that listed it
    times: StreamTimes = field(default_factory=StreamTimes)
    shape: StreamShape | None = None
    observed_at: float = NEVER  # leader's clock
    limited: tuple[float, int] = (NEVER, 0)  # leader's clock; last removal by limits: at most
    earlier: int = 0  # last sequence at the poll before the previous one
    still: bool = False  # nothing was stored or removed since the previous poll
    deleted: tuple[int, int] = (0, 0)  # at most, at the last two polls
    view: StreamView | None = None  # of the last poll

    def observe(self, row: Stream, server_now: float) -> StreamView:
        """`row` comes from the stream's leader. At the first poll it is the row in the state."""
        view = self.view
        if row is self.row and view is not None and view.still and not view.by_limits:
            # As for most streams: only the time has changed since the previous poll.
            self.times.note(row, server_now)
            self.observed_at = server_now
            self.view = replace(view, server_now=server_now)
        else:
            self.view = self._compared(row, server_now)
        return self.view

    def _compared(self, row: Stream, server_now: float) -> StreamView:
        before, config = self.row, row.config
        since = self.observed_at if self.observed_at > NEVER else server_now
        polls = PollTimes(since, server_now, self.times.stored_after)
        by_limits, removed = removed_by_limits(before, row, polls), removed_messages(before, row)
        change = stream_change(before, row, by_limits)
        if change is not NO_CHANGE:
            self._count(change)
        steady = not (change.recreated or change.regressed)
        if not steady:
            self.times.clear()
        self.times.note(row, server_now)
        last_before = min(before.last_seq, row.last_seq) if steady else 0
        earlier = min(self.earlier, last_before)
        self.row, self.earlier = row, last_before
        shape_before, was_still = self.shape, self.still
        shape = self._shape(config)
        self.still = (
            row.last_seq == last_before
            and row.messages == before.messages
            and row.first_seq == before.first_seq
            and shape is shape_before
        )
        deleted_earlier, deleted_before = self.deleted
        deleted = deleted_before + (new_gaps(before, row) if steady else 0)
        self.deleted = deleted_before, deleted
        in_total = self._by_limits(by_limits, server_now)
        acks_remove = config is not None and config.retention != "limits"
        return StreamView(
            row,
            self.times,
            server_now,
            shape,
            is_gapless(row),
            acks_remove,
            removes_oldest(row),
            config is None or limits_remove(config),
            in_total,
            removed > 0
            and not acks_remove
            and (
                removed > explained_by_limits(before, row, polls)
                or is_emptier_than_limits_leave_it(row)
            ),
            removed,
            unused_seqs(before, row),
            gaps(row),
            gaps(before),
            steady,
            last_before,
            earlier,
            was_still and self.still,
            deleted,
            deleted_before,
            deleted_earlier,
        )

    def _by_limits(self, now: int, server_now: float) -> int:
        """At most so many were removed by limits since the poll before the previous one.

        Each replica applies limits on its own. A consumer's leader may report the removal one
        poll later than the stream's leader.
        """
        at, before = self.limited
        oldest = min(self.observed_at, server_now - REPLICA_SKEW_SECONDS)
        if now:
            self.limited = (server_now, now)
        self.observed_at = server_now
        return now + (before if at >= oldest and at > NEVER else 0)

    def _shape(self, config: StreamConfig | None) -> StreamShape:
        """Returns the same object until it changes: consumers compare it by identity."""
        elsewhere = config is None or bool(config.mirror or config.sourced or config.transformed)
        subjects = config.subjects if config else ()
        known = config is not None
        shape = StreamShape(subjects, overwrites_by_design(config), elsewhere, known)
        if self.shape is None or self.shape != shape:
            self.shape = shape
        return self.shape

    def _count(self, change: StreamChange) -> None:
        now = self.seen
        self.add(catalog.STREAM_RECREATED, change.recreated, now)
        self.add(catalog.STREAM_SEQUENCE_REGRESSIONS, change.regressed, now)
        self.add(catalog.STREAM_LEADER_CHANGES, change.leader_changed, now)
        self.add(catalog.STREAM_PURGED_MESSAGES, change.purged, now)


class Waited(Struct, gc=False):
    """A cohort that is not needed yet: one object that changes, because most never are."""

    row: Consumer
    view: StreamView  # of the poll after it
    countable: bool


class Headroom(Struct, gc=False):
    """Of a consumer with little retention left."""

    since: float  # it is little and does not recover
    at: float
    left: float  # share of the retention, at that time
    falls: bool = False


class ConsumerState(EventCounters, gc=False):
    key: ConsumerKey
    row: Consumer | None = None  # the last row from its leader
    seen: float = 0.0
    polls: int = 0  # since the exporter saw it created
    redeliveries: int = 0
    conditions: Held = ()  # of the last poll that could judge them
    ratios: Held = ()  # the same for those that stand on a share
    headroom: Headroom | None = None
    verdict: Verdict | None = None
    verdict_since: float = 0.0
    position: int = 0  # nothing up to it waits; never goes back, also with a new leader
    settled: int = 0  # the position at the previous poll
    cohorts: tuple[Cohort, ...] = ()  # while it is overrun
    waited: Waited | None = None  # else, what waited at the previous poll but one
    unexplained: int = 0  # of the upper bound: no limit that was polled explains it
    skipped: int = 0  # at the previous poll, beyond what its stream had shown to be removed
    set_back: int | None = None  # the stream uses this sequence again: the position says nothing
    new_leader: bool = False  # at the last poll: num_pending may not be counted yet
    missed: bool = False  # since its last row its stream was polled more than once
    nothing_missing: bool = False  # ahead of the position, at the last poll
    covered_from: int = 0  # from this sequence on, the configured subjects are those stored
    finished: int = 0  # everything up to this sequence is finished
    redelivered_bounded: float = NEVER  # when an interval last gave only a bound
    lost_bounded: float = NEVER
    floor: FloorState | None = None
    passed: int = 0  # exhausted messages behind the floor when it was last level
    trend: BacklogTrend | None = None
    work: WorkState | None = None
    busy_hours: BusyHours | None = None  # also of the consumer that it was recreated from
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
        """At least."""
        return self.total(catalog.CONSUMER_LOST_MESSAGES)

    @property
    def lost_upper(self) -> int:
        """At most."""
        return self.total(catalog.CONSUMER_LOST_MESSAGES_UPPER)

    @property
    def totals(self) -> tuple[int, int, int, int, int]:
        """Recreated, leader changes, lost at least and at most, purged."""
        if self.events is None:
            return 0, 0, 0, 0, 0
        return (
            self.total(catalog.CONSUMER_RECREATED),
            self.total(catalog.CONSUMER_LEADER_CHANGES),
            self.lost,
            self.lost_upper,
            self.total(catalog.CONSUMER_PURGED_MESSAGES),
        )

    def note_gone(self, lost: int, lost_most: int, purged: int, now: float) -> None:
        """Adds messages that were removed before their first delivery."""
        self.add(catalog.CONSUMER_LOST_MESSAGES, lost, now)
        self.add(catalog.CONSUMER_LOST_MESSAGES_UPPER, lost_most, now)
        self.add(catalog.CONSUMER_PURGED_MESSAGES, purged, now)

    @property
    def durable(self) -> bool:
        return self.row is not None and self.row.config is not None and self.row.config.durable

    def by_position(self, row: Consumer, view: StreamView) -> bool:
        """Whether positions of this consumer count messages, by configuration."""
        if self.shape is not view.shape or self.config is not row.config:
            self.compare_subjects(row, view)
        return self.counts_messages

    def compare_subjects(self, row: Consumer, view: StreamView) -> None:
        self.shape, self.config = view.shape, row.config
        self.counts_messages = counts_messages(row.config, view)
        unfiltered = row.config is not None and is_unfiltered(row.config)
        self.covered_from = 0 if unfiltered else view.row.last_seq

    def settle(self, last_seq: int) -> None:
        """Nothing waits up to this sequence."""
        self.position = self.settled = max(self.position, last_seq)

    def restart(self, row: Consumer) -> None:
        """For a new consumer, and for one that was recreated or reset."""
        self.polls = 0
        self.position = self.settled = position(row)
        self.cohorts, self.waited, self.set_back, self.new_leader = (), None, None, False
        self.skipped = 0
        self.finished = 0
        self.floor = self.deliveries = self.counts = self.trend = self.work = None
        self.passed, self.conditions, self.ratios, self.headroom = 0, (), (), None
        self.redelivered_bounded = self.lost_bounded = NEVER
        self.window.clear()


class Observation(Struct, frozen=True, gc=False):
    """One poll of a consumer that has a leader and whose stream has one."""

    row: Consumer
    view: StreamView
    now: float  # exporter's clock
    events: EventsInput
    clocks: Mapping[str, float]  # by server: its clock minus the exporter's
    limits: Limits = DEFAULT_LIMITS


def counts_messages(config: ConsumerConfig | None, view: StreamView) -> bool:
    return (
        config is not None
        and config.deliver_policy != "last_per_subject"
        and view.shape.known
        and not view.shape.overwrites
        and sees_everything(config, view.row.config)
    )
