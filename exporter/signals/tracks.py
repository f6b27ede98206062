"""What is kept of a stream and of a consumer between two looks, and what one look at a stream gives."""

from __future__ import annotations

from msgspec import Struct, field

from exporter.model import Consumer, ConsumerConfig, Stream
from exporter.signals.accounting import position
from exporter.signals.ack_floor import FloorTrack
from exporter.signals.coverage import sees_everything
from exporter.signals.filtered import CountTrack
from exporter.signals.heard import ConsumerKey, Heard
from exporter.signals.lag import StreamTimes
from exporter.signals.stall import DeliveryTrack
from exporter.signals.streams import (
    StreamChange,
    is_gapless,
    limits_may_remove,
    overwrites_by_design,
    removed_messages,
    stream_change,
)
from exporter.signals.told import ConsumerSignals
from exporter.signals.verdict import Verdict
from exporter.signals.window import Window

NEVER = float("-inf")


class StreamView(Struct, frozen=True, gc=False):
    """A stream as all its consumers need it in this poll."""

    row: Stream
    times: StreamTimes
    server_now: float
    gapless: bool
    overwrites: bool
    limits_may_remove: bool
    removed: int
    steady: bool  # the same stream as at the look before, and not set back
    last_seq_before: int  # at the look before; surely older than what is said of consumers now


class StreamTrack(Struct, gc=False):
    row: Stream  # the last one that its leader gave
    seen: float = 0.0  # when an answer last named it
    times: StreamTimes = field(default_factory=StreamTimes)
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
            is_gapless(row),
            overwrites_by_design(row.config),
            limits_may_remove(before, row, server_now),
            removed_messages(before, row),
            steady,
            min(before.last_seq, row.last_seq) if steady else 0,
        )

    def _count(self, change: StreamChange) -> None:
        self.recreated += change.recreated
        self.regressions += change.regressed
        self.leader_changes += change.leader_changed
        self.purged += change.purged


class ConsumerTrack(Struct, gc=False):
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
    floor: FloorTrack | None = None
    deliveries: DeliveryTrack | None = None
    counts: CountTrack | None = None
    window: Window = field(default_factory=Window)
    coverage: Coverage | None = None
    rest: ConsumerSignals | None = None  # what is true as long as nothing stirs

    @property
    def durable(self) -> bool:
        return self.row is not None and self.row.config is not None and self.row.config.durable

    def by_position(self, row: Consumer, view: StreamView) -> bool:
        """Whether, by configuration, positions of this consumer count messages."""
        kept = self.coverage
        if kept is None or not kept.is_of(row.config, view):
            kept = self.coverage = coverage(row.config, view)
        return kept.by_position

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

    key: ConsumerKey
    row: Consumer
    view: StreamView
    now: float  # exporter's clock
    heard: Heard


class Coverage(Struct, frozen=True, gc=False):
    """Comparing subjects is dear: done again only when a configuration changed."""

    config: ConsumerConfig | None
    subjects: tuple[str, ...]
    overwrites: bool
    by_position: bool

    def is_of(self, config: ConsumerConfig | None, view: StreamView) -> bool:
        return (
            self.config is config
            and self.overwrites == view.overwrites
            and self.subjects == _subjects(view)
        )


def coverage(config: ConsumerConfig | None, view: StreamView) -> Coverage:
    by_position = (
        config is not None
        and config.deliver_policy != "last_per_subject"
        and not view.overwrites
        and sees_everything(config, view.row.config)
    )
    return Coverage(config, _subjects(view), view.overwrites, by_position)


def _subjects(view: StreamView) -> tuple[str, ...]:
    return view.row.config.subjects if view.row.config else ()
