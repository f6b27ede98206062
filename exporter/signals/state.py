"""What is kept of a stream and of a consumer between two looks, and what one look at a stream gives."""

from __future__ import annotations

from msgspec import Struct, field

from exporter.model import Consumer, ConsumerConfig, Stream, StreamConfig
from exporter.signals.ack_floor import FloorState
from exporter.signals.coverage import sees_everything
from exporter.signals.delivery_stall import DeliveryState
from exporter.signals.events_input import ConsumerKey, EventsInput
from exporter.signals.filtered_redeliveries import CountState
from exporter.signals.lag import StreamTimes
from exporter.signals.loss_accounting import position
from exporter.signals.results import ConsumerSignals
from exporter.signals.retention import drops_the_oldest
from exporter.signals.stream_changes import (
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
# Copies of a stream drop what is too old within so many seconds of each other.
COPIES_APART_SECONDS = 5.0


class StreamShape(Struct, frozen=True, gc=False):
    """What decides whether positions in the stream count messages; kept while it is the same."""

    subjects: tuple[str, ...]
    overwrites: bool


class StreamView(Struct, frozen=True, gc=False):
    """A stream as all its consumers need it in this poll."""

    row: Stream
    times: StreamTimes
    server_now: float
    shape: StreamShape
    gapless: bool
    limits_may_remove: bool
    acks_remove: bool  # a work queue or an interest stream
    crowded: bool  # its limits soon take, or already take, the oldest messages
    removed: int
    steady: bool  # the same stream as at the look before, and not set back
    last_seq_before: int  # at the look before; surely older than what is said of consumers now


class StreamState(Struct, gc=False):
    row: Stream  # the last one that its leader gave
    seen: float = 0.0  # when an answer last named it
    times: StreamTimes = field(default_factory=StreamTimes)
    shape: StreamShape | None = None
    looked: float = NEVER  # by the leader's clock, like the next one
    limited: float = NEVER  # when limits may last have taken messages
    recreated: int = 0
    regressions: int = 0
    leader_changes: int = 0
    purged: int = 0
    consumers_removed: int = 0

    def look(self, row: Stream, server_now: float) -> StreamView:
        """`row` comes from the stream's leader; at the first look it is the one already kept."""
        before = self.row
        change = stream_change(before, row, server_now)
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
            drops_the_oldest(row),
            removed_messages(before, row),
            steady,
            min(before.last_seq, row.last_seq) if steady else 0,
        )

    def _limits_may_remove(self, before: Stream, row: Stream, server_now: float) -> bool:
        """Since the look before the last one: each copy applies limits by itself, and a consumer's
        leader may tell of it a look later than the stream's."""
        if limits_may_remove(before, row, server_now):
            self.limited = server_now
        oldest = min(self.looked, server_now - COPIES_APART_SECONDS)
        self.looked = server_now
        return self.limited >= oldest and self.limited > NEVER

    def _shape(self, config: StreamConfig | None) -> StreamShape:
        """The same object as before unless it changed: consumers compare it by identity."""
        shape = StreamShape(config.subjects if config else (), overwrites_by_design(config))
        if self.shape is None or self.shape != shape:
            self.shape = shape
        return self.shape

    def _count(self, change: StreamChange) -> None:
        self.recreated += change.recreated
        self.regressions += change.regressed
        self.leader_changes += change.leader_changed
        self.purged += change.purged


class ConsumerState(Struct, gc=False):
    key: ConsumerKey
    row: Consumer | None = None  # the last one that its leader gave
    seen: float = 0.0
    looks: int = 0  # since it was made, as far as we know
    redeliveries: int = 0
    lost: int = 0
    purged: int = 0
    recreated: int = 0
    leader_changes: int = 0
    verdict: Verdict | None = None
    verdict_since: float = 0.0
    position: int = 0  # never goes back, whoever leads
    nothing_missing: bool = False  # ahead of the position, at the last look
    finished: int = 0  # up to this sequence nothing is open
    redelivered_bounded: float = NEVER  # when an interval last gave no more than a bound
    lost_bounded: float = NEVER
    floor: FloorState | None = None
    deliveries: DeliveryState | None = None
    counts: CountState | None = None
    window: Window = field(default_factory=Window)
    # Comparing subjects is dear: done again only when one of these is not the same any more.
    config: ConsumerConfig | None = None
    shape: StreamShape | None = None
    counts_messages: bool = False  # what by_position said of them
    told: ConsumerSignals | None = None  # at the last look, if it rests or stands still
    rests: bool = False  # then all of that is true as long as nothing stirs
    until: float = NEVER  # until then only ages can change in it, as long as it stands still

    @property
    def durable(self) -> bool:
        return self.row is not None and self.row.config is not None and self.row.config.durable

    def by_position(self, row: Consumer, view: StreamView) -> bool:
        """Whether, by configuration, positions of this consumer count messages."""
        if self.shape is not view.shape or self.config is not row.config:
            self.shape, self.config = view.shape, row.config
            self.counts_messages = counts_messages(row.config, view)
        return self.counts_messages

    def begin_anew(self, row: Consumer) -> None:
        """First look at this consumer, or it was made again or set back."""
        self.looks = 0
        self.position = position(row)
        self.finished = 0
        self.floor = self.deliveries = self.counts = None
        self.redelivered_bounded = self.lost_bounded = NEVER
        self.window.clear()


class Look(Struct, frozen=True, gc=False):
    """One look at one consumer whose leader answered, and whose stream's did."""

    row: Consumer
    view: StreamView
    now: float  # exporter's clock
    heard: EventsInput


def counts_messages(config: ConsumerConfig | None, view: StreamView) -> bool:
    return (
        config is not None
        and config.deliver_policy != "last_per_subject"
        and not view.shape.overwrites
        and sees_everything(config, view.row.config)
    )
