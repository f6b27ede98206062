"""Exporters as in real use, and whether what they report of each consumer can be true."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

import pytest
from support.exporter.exposed_series import SOURCES, settings_of
from support.exporter.full_poller import whole_poller
from support.exporter.source_polls import Place
from support.nats.servers import NatsServer
from support.signals.ledger import NOTHING, Ledger, Truth
from support.signals.mixed.workload import Life, MixedWorkload, Stored

from exporter.model import Consumer
from exporter.polling.loop import SystemPoller
from exporter.settings.config import ExactSettings, SourceName, SystemSettings
from exporter.signals.results import ConsumerSignals
from exporter.signals.verdict import Verdict

# Four polls, as 60 s are in production.
CACHE_SECONDS: Final = 1.0
_LAG_TOLERANCE: Final = 0.25
_WELL: Final = (None, Verdict.OK, Verdict.IDLE)
LOSING: Final = "losing_messages"


@dataclass
class Track:
    """One consumer as one exporter saw it. Of a life that ended only what was seen counts."""

    life: Ledger | None = None
    base: Truth = NOTHING  # at the first poll of this life
    last: Truth = NOTHING  # after the last poll
    known: Truth = NOTHING  # before it
    excess: int = 0  # of num_pending over what waits: 2.11 miscounts behind filters
    began: Truth = NOTHING  # what was reported before this life
    least: Truth = NOTHING  # of earlier lives, what happened between two polls
    most: Truth = NOTHING  # likewise, and what happened before the first poll of each
    seen: Truth = NOTHING  # between the first and the last poll of every life
    # Deleted or purged by subject where limits removed all around it, between the same two polls:
    # the rows of both polls are those of limits alone.
    unclear: int = 0
    picked: int = 0  # so many of the life's own are known
    # Removed by a limit that was lowered and is back, while a purge or deliveries hide it.
    hidden: int = 0
    raised: int = 0  # the same, hidden or not
    limit: int | None = None  # at the last poll
    deliveries: int = 0  # at the last poll
    recreated: int = 0
    absent: bool = False
    rows: deque[str] = field(default_factory=lambda: deque(maxlen=4))  # for a failure's message
    always_exact: set[str] = field(default_factory=set)
    reported: ConsumerSignals | None = None

    def start(self, life: Ledger, result: ConsumerSignals, truth: Truth) -> list[str]:
        faults = []
        self.began = _counted(self.reported)
        if self.life is not None:
            self.recreated += 1
            self.least = self.least.plus(self.known).less(self.base)
            self.most = self.most.plus(self.last)
        if self.absent:  # what was counted before may be forgotten, or not
            faults = self._restart(result)
        self.life, self.base, self.absent = life, truth, False
        self.always_exact = {"redeliveries", "lost"}
        return faults

    def note_unclear(self, life: Ledger, truth: Truth, first: float, limit: int | None) -> None:
        """`first`: the first sequence that is still stored."""
        same = self.life is life
        removed = truth.less(self.last if same else NOTHING)
        served = life.deliveries != (self.deliveries if same else 0)
        since = self.picked if same else 0
        self.unclear += sum(sequence < first for sequence in life.picked[since:])
        self.picked = len(life.picked)
        if limit == self.limit:
            self.raised += removed.lowered
            self.hidden += removed.lowered if served or removed.purged else 0
        self.deliveries, self.limit = life.deliveries, limit

    def _restart(self, result: ConsumerSignals) -> list[str]:
        now, before = _counted(result), _counted(self.reported)
        self.least = self.most = self.began = now
        self.unclear = self.hidden = self.raised = 0
        wrong = [pair for pair in zip(now, before, strict=True) if pair[0] not in (0, pair[1])]
        return [f"came back with {now}, had {before}"] if wrong else []


def _counted(result: ConsumerSignals | None) -> Truth:
    if result is None:
        return NOTHING
    return Truth(result.lost or 0, result.purged or 0, result.redeliveries)


def upper(result: ConsumerSignals) -> int | None:
    bound: int | None = result.lost_upper
    return bound


@dataclass(frozen=True)
class Moment:
    """What is true of a consumer at one moment."""

    truth: Truth
    oldest: Stored | None = None
    waiting: int | None = None

    @classmethod
    def of(cls, work: MixedWorkload, life: Life, *, with_exhausted: bool) -> "Moment":
        oldest = work.oldest(life, with_exhausted=with_exhausted)
        return cls(life.truth, oldest, len(work.waiting(life)))


@dataclass
class Gauge:
    """One exporter, and the faults that were found in what it reports."""

    source: str
    poller: SystemPoller
    tracks: dict[tuple[str, str], Track] = field(default_factory=dict)
    found: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    async def poll(self, works: Iterable[MixedWorkload], when: str) -> None:
        """Messages may expire during the poll: the truth lies between before and after it."""
        works = [work for work in works if work.lives]  # the others are deleted just now
        await asyncio.gather(*(work.note_gone() for work in works))
        lives = [(work, life) for work in works for life in work.lives.values()]
        before = [Moment.of(work, life, with_exhausted=True) for work, life in lives]
        await self.poller.poll_once()
        assert self.poller.state.complete, self.poller.state.requests
        await asyncio.gather(*(work.note_gone() for work in works))
        present = {(life.stream, life.consumer) for _, life in lives}
        for key, track in self.tracks.items():
            track.absent |= key not in present
        for (work, life), early in zip(lives, before, strict=True):
            late = Moment.of(work, life, with_exhausted=False)
            faults = self.check(
                life,
                early,
                late,
                may_lose=work.limits_remove,
                first=min(work.stored, default=inf),
                limit=work.config.get("max_msgs"),
            )
            self._note(life, faults, when)

    def _note(self, life: Life, faults: list[str], when: str) -> None:
        """The first of each kind: what was counted wrongly once stays wrong."""
        for fault in faults:
            kind = (life.stream, life.consumer, fault.split()[0])
            self.found[kind] += 1
            if self.found[kind] == 1:
                rows = self.tracks[life.stream, life.consumer].rows
                name = f"{life.stream} {life.consumer}"
                self.faults.append("\n  ".join([f"{when}, {self.source}: {name} {fault}", *rows]))

    def result(self, life: Ledger) -> ConsumerSignals | None:
        signals = self.poller.state.signals
        return signals.consumers.get(("APP", life.stream, life.consumer))

    def _row(self, life: Ledger) -> Consumer:
        snapshot = self.poller.state.snapshot
        assert snapshot is not None
        names = (life.stream, life.consumer)
        (row,) = (each for each in snapshot.consumers if (each.stream, each.name) == names)
        return row

    def _described(self, life: Ledger, row: Consumer) -> str:
        snapshot = self.poller.state.snapshot
        assert snapshot is not None
        (stream,) = (each for each in snapshot.streams if each.name == life.stream)
        limits = stream.config and (stream.config.max_messages, stream.config.subjects)
        filters = row.config and row.config.filters
        result = self.result(life)
        counted = result and (result.lost, result.lost_upper, result.lost_exact, result.purged)
        return (
            f"stream {stream.first_seq} to {stream.last_seq}, {stream.messages} messages, {limits}; "
            f"consumer {filters} sees first {row.stream_first_seq}, delivered "
            f"{row.delivered_stream_seq} by {row.delivered_consumer_seq}, {row.num_pending} pending; "
            f"lost {counted}"
        )

    def width(self) -> str:
        """The bounds of the losses, summed over all consumers."""
        known = [track.reported for track in self.tracks.values() if track.reported]
        least, most = sum(one.lost or 0 for one in known), sum(upper(one) or 0 for one in known)
        true = sum(track.seen.lost for track in self.tracks.values())
        return f"{self.source}: lost {least} to {most}, true {true}, width {most - least}"

    def check(
        self,
        life: Ledger,
        early: Moment,
        late: Moment,
        *,
        may_lose: bool = True,
        first: float = inf,
        limit: int | None = None,
    ) -> list[str]:
        result = self.result(life)
        if result is None:
            return ["has no signals"]
        track = self.tracks.setdefault((life.stream, life.consumer), Track())
        row = self._row(life)
        track.rows.append(self._described(life, row))
        if early.waiting is not None:
            excess = max(0, row.num_pending - early.waiting)
            track.unclear += max(0, excess - track.excess)
            track.excess = excess
        if may_lose:
            track.note_unclear(life, late.truth, first, limit)
        # What goes during the first poll may be gone before it or after it.
        faults = track.start(life, result, late.truth) if track.life is not life else []
        least = track.least.plus(early.truth).less(track.base)
        most = track.most.plus(late.truth)
        exactly = track.began.plus(early.truth).less(track.base)
        faults += _outside("redeliveries", result.redeliveries, exactly, most, track, result)
        faults += _outside("lost", result.lost, exactly, most, track, result)
        if (result.purged or 0) > most.purged + track.hidden:
            faults.append(f"purged {result.purged}, true is {most.purged}")
        bound = upper(result)
        if bound is None or bound < least.lost - track.hidden:
            faults.append(f"upper {bound} of lost, true is {least.lost}")
        if result.recreated != track.recreated:
            faults.append(f"recreated {result.recreated}, true is {track.recreated}")
        lost = early.truth.lost - track.base.lost - track.raised
        faults += _verdict_faults(result, lost, most.lost)
        faults += self._lag_faults(result, early, late)
        track.last, track.known = late.truth, early.truth
        track.reported, track.seen = result, least
        return faults

    def _lag_faults(self, result: ConsumerSignals, early: Moment, late: Moment) -> list[str]:
        if not result.lag_exact or result.lag is None:
            return []
        snapshot = self.poller.state.snapshot
        assert snapshot is not None
        taken = snapshot.taken
        least = taken - late.oldest.latest if late.oldest else 0.0
        most = taken - early.oldest.earliest if early.oldest else 0.0
        if least - _LAG_TOLERANCE <= result.lag <= most + _LAG_TOLERANCE:
            return []
        return [f"lag {result.lag:.2f}, true is {least:.2f} to {most:.2f}"]


def _outside(
    what: str, value: int | None, exactly: Truth, most: Truth, track: Track, result: ConsumerSignals
) -> list[str]:
    """Never above the truth, and not below where it was exact in all of this life."""
    exact = result.lost_exact if what == "lost" else result.redelivery_exact
    if exact != 1:
        track.always_exact.discard(what)
    floor = getattr(exactly, what) if what in track.always_exact else 0
    floor -= track.hidden if what == "lost" else 0
    ceiling = getattr(most, what) + (track.unclear if what == "lost" else 0)
    if value is not None and floor <= value <= ceiling:
        return []
    return [f"{what} {value}, true is {floor} to {ceiling}, exact {exact}"]


def _verdict_faults(result: ConsumerSignals, lost: int, lost_at_most: int) -> list[str]:
    """Losing is stated where something was lost, and only where something may have been."""
    stated = LOSING in dict(result.conditions)
    if lost > 0 and (result.verdict in _WELL or not stated):
        return [f"verdict {result.verdict!r}, {result.conditions}, although {lost} were lost"]
    if stated and lost_at_most == 0 and upper(result) == result.lost:
        return [f"losing is stated, {result.conditions}, and nothing was lost"]
    return []


@asynccontextmanager
async def gauges(place: Place, *, exact_lag: bool = False) -> AsyncIterator[list[Gauge]]:
    """Each source as the exporter makes it, with its cache of configuration."""
    async with AsyncExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        if isinstance(place, NatsServer):  # one server: no need to wait for others
            patch.setattr("exporter.sources.account._QUIET_SECONDS", 0.0)
            patch.setattr("exporter.sources.system._QUIET_SECONDS", 0.0)
        yield [
            Gauge(source, await stack.enter_async_context(whole_poller(settings)))
            for source in SOURCES
            for settings in [_settings(place, source, exact_lag=exact_lag)]
        ]


def _settings(place: Place, source: SourceName, *, exact_lag: bool) -> SystemSettings:
    exact = ExactSettings(lag=exact_lag and source == "account", filtered_interval=CACHE_SECONDS)
    return replace(settings_of(place, source), config_interval=CACHE_SECONDS, exact=exact)
