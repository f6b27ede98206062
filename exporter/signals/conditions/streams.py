"""The conditions of a stream. Each is judged alone, so that none hides another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf

from msgspec import Struct, field

from exporter import catalog
from exporter.model import MALFORMED, Consumer, Replica, Stream, StreamConfig, StreamOrigin
from exporter.signals.conditions.fill_trend import FillTrend
from exporter.signals.conditions.held import Held, judged
from exporter.signals.conditions.limits import DEFAULT_LIMITS, Limits
from exporter.signals.conditions.words import Reason, Unjudged
from exporter.signals.events_input import StreamKey
from exporter.signals.retention import size_ratios
from exporter.tempo import scaled

NO_LEADER = "no_leader"
FULL = "full"
NO_INTEREST = "no_interest"
BACK_PRESSURE = "back_pressure"
DIVERGED = "diverged"
REPLICA_OFFLINE = "replica_offline"
QUORUM_AT_RISK = "quorum_at_risk"  # the next replica that fails stops the stream
MIRROR_STALE = "mirror_stale"
REPLICA_LAGGING = "replica_lagging"
FILLING = "filling"
UNREACHABLE = "unreachable_messages"
INDEX_DAMAGED = "index_damaged"
# A stream at its limit goes up and down with each message that is read.
_STAYS_FULL = 0.03
# A publisher that waits for a full stream tries again within this time.
_WAITING_SECONDS = scaled(60.0)
# An interest stream without a consumer discards while one was published within this time.
_PUBLISHED_SECONDS = scaled(300.0)
# Rows of a busy work queue and of its consumers are of different moments.
_UNREACHABLE_SECONDS = scaled(60.0)
# Below this share of the filling ratio no trend is kept.
_WORTH_A_TREND = 0.8

OriginTime = Callable[[str], float | None]


class StreamFacts(Struct, frozen=True, gc=False):
    """What the conditions need besides the row; times are on the exporter's clock."""

    now: float
    servers_down: Mapping[str, float] = field(default_factory=dict)  # since when
    divergence: tuple[tuple[str, int], ...] = ()
    # None where it is unknown.
    created: float | None = None
    last_stored: float | None = None
    origin_stored: OriginTime = lambda _: None  # when another stream last stored a message
    limits: Limits = DEFAULT_LIMITS
    is_origin: bool = False  # mirrors and sources read through consumers that are not listed
    unfinished: int | None = None  # pending or unacknowledged messages of all its consumers


class StreamConditions(Struct, gc=False):
    """State between polls."""

    held: Held = ()
    trend: FillTrend | None = None
    stored: tuple[int, float] | None = None  # last sequence of a full stream, and when it moved
    discarded: tuple[int, float] | None = None  # the same of an interest stream without interest
    unreachable_since: float | None = None

    @property
    def goes_on(self) -> bool:
        """Whether the next poll needs what this one found."""
        return any(
            each is not None for each in (self.trend, self.discarded, self.unreachable_since)
        )

    def update(self, row: Stream, facts: StreamFacts) -> Unjudged:
        """The conditions that cannot be judged now, and why."""
        malformed = row.reason == MALFORMED
        if not (row.up or malformed):  # what held before its leader was lost is old
            self.held = tuple(each for each in self.held if each[0] == NO_LEADER)
        found = () if malformed else (*self._found(row, facts),)
        unknown = self._unknown(row, facts, dict(found))
        self.held, missing = judged(self.held, found, unknown, catalog.STREAM_CONDITIONS)
        return missing

    def _unknown(
        self, row: Stream, facts: StreamFacts, found: Mapping[str, float]
    ) -> dict[str, str]:
        if not row.up:
            reason = Reason.MALFORMED if row.reason == MALFORMED else Reason.NO_LEADER
            return {word: reason for word in catalog.STREAM_CONDITIONS if word not in found}
        missing: dict[str, str] = {}
        if row.replicas and not row.follower_messages:
            missing[DIVERGED] = Reason.NO_VALUE
        if row.config is None:
            words = (FULL, FILLING, BACK_PRESSURE, NO_INTEREST, UNREACHABLE)
            missing |= dict.fromkeys(words, Reason.NO_CONFIG)
        elif self.trend is not None and self.trend.after(0.0) is None:
            missing[FILLING] = Reason.TOO_YOUNG
        if is_work_queue(row) and row.messages and row.consumers and facts.unfinished is None:
            missing[UNREACHABLE] = Reason.NO_VALUE
        return missing

    def _found(self, row: Stream, facts: StreamFacts) -> Iterator[tuple[str, float]]:
        """The gravest first."""
        if not row.up:
            yield NO_LEADER, facts.now
            return
        full = self._is_full(row, facts.limits)
        waits = full and self._is_back_pressure(row, facts.now)
        if full and not waits:
            yield FULL, facts.now if facts.last_stored is None else facts.last_stored
        if self._discards_all(row, facts):
            yield NO_INTEREST, facts.now
        if _has_diverged(row, facts):
            yield DIVERGED, facts.now
        yield from _of_replicas(row, facts)
        if self._is_filling(row, facts) and not full:
            yield FILLING, facts.now
        if since := self._unreachable(row, facts):
            yield UNREACHABLE, since
        if row.subjects > row.messages > 0:
            yield INDEX_DAMAGED, facts.now
        if waits:
            yield BACK_PRESSURE, facts.now

    def _is_full(self, row: Stream, limits: Limits) -> bool:
        ratio = fill_ratio(row)
        if ratio is None:
            return False
        limit = limits.stream_full_ratio
        was_full = any(word in (FULL, BACK_PRESSURE) for word, _ in self.held)
        return ratio >= (limit - _STAYS_FULL if was_full else limit)

    def _is_back_pressure(self, row: Stream, now: float) -> bool:
        """Whether publishers wait for consumers: each message that is finished makes place for one.

        Where acks remove nothing a full stream loses what publishers do not keep."""
        if row.config is None or row.config.retention == "limits":
            return False
        self.stored = _moved(self.stored, row.last_seq, now)
        return now - self.stored[1] <= _WAITING_SECONDS

    def _discards_all(self, row: Stream, facts: StreamFacts) -> bool:
        """Whether messages were published lately, and since it has had no reader."""
        if row.consumers or facts.is_origin or not _keeps_what_is_read(row):
            self.discarded = None
            return False
        self.discarded = _moved(self.discarded, row.last_seq, facts.now)
        return facts.now - self.discarded[1] <= _PUBLISHED_SECONDS

    def _unreachable(self, row: Stream, facts: StreamFacts) -> float | None:
        """Since when the messages of a work queue are of no consumer, if that lasts."""
        if facts.unfinished != 0 or facts.is_origin:
            # A queue without messages or consumers has nothing unfinished either.
            if facts.unfinished is not None or not (row.messages and row.consumers):
                self.unreachable_since = None
            return None
        if self.unreachable_since is None:
            self.unreachable_since = facts.now
        lasted = facts.now - self.unreachable_since >= _UNREACHABLE_SECONDS
        return self.unreachable_since if lasted else None

    def _is_filling(self, row: Stream, facts: StreamFacts) -> bool:
        ratio, limit = fill_ratio(row), facts.limits.stream_filling_ratio
        if ratio is None or ratio < _WORTH_A_TREND * limit:
            self.trend = None
            return False
        if self.trend is None:
            self.trend = FillTrend()
        self.trend.note(facts.now, ratio)
        expected = self.trend.after(scaled(facts.limits.stream_filling_horizon))
        return ratio > limit and expected is not None and expected >= 1.0


def unfinished_messages(
    streams: Iterable[Stream], consumers: Iterable[Consumer]
) -> dict[StreamKey, int]:
    """Pending or unacknowledged, of the work queues all of whose consumers are known."""
    expected = {
        (row.account, row.name): row.consumers
        for row in streams
        if row.messages and row.consumers and is_work_queue(row)
    }
    known = dict.fromkeys(expected, 0)
    found = dict.fromkeys(expected, 0)
    for row in consumers if expected else ():
        key = (row.account, row.stream)
        if row.up and key in expected:
            known[key] += 1
            found[key] += row.num_pending + row.num_ack_pending
    return {key: found[key] for key in expected if known[key] == expected[key]}


def judge_streams(
    states: Mapping[StreamKey, StreamConditions],
    rows: tuple[Stream, ...],
    facts_of: Callable[[Stream], StreamFacts],
) -> tuple[dict[StreamKey, StreamConditions], dict[StreamKey, Held], dict[StreamKey, Unjudged]]:
    """The states that the next poll needs, the conditions that hold, and those that cannot be
    judged; only where there are any."""
    kept, found, unjudged = {}, {}, {}
    for row in rows:
        key = (row.account, row.name)
        state = states.get(key)
        if state is None:
            if _is_certainly_well(row):
                continue
            state = StreamConditions()
        missing = state.update(row, facts_of(row))
        if missing:
            unjudged[key] = missing
        if state.held:
            found[key] = state.held
        if state.held or state.goes_on:
            kept[key] = state
    return kept, found, unjudged


def _is_certainly_well(row: Stream) -> bool:
    if not row.up or row.replicas or row.origins or row.subjects > row.messages:
        return False
    config = row.config
    return config is not None and config.discard != "new" and config.retention == "limits"


def fill_ratio(row: Stream) -> float | None:
    """Used share of the limit at which the stream rejects messages; None if it never does."""
    config = row.config
    if config is None or config.discard != "new":
        return None
    return max((ratio for _, ratio in size_ratios(row, config)), default=None)


def is_work_queue(row: Stream) -> bool:
    return row.config is not None and row.config.retention == "workqueue"


def _keeps_what_is_read(row: Stream) -> bool:
    config = row.config
    return config is not None and config.retention == "interest" and not config.mirror


def _moved(before: tuple[int, float] | None, last_seq: int, now: float) -> tuple[int, float]:
    """A last sequence and when it moved; the first one says nothing."""
    if before is None:
        return last_seq, -inf
    return before if before[0] == last_seq else (last_seq, now)


def _has_diverged(row: Stream, facts: StreamFacts) -> bool:
    least = max(
        facts.limits.replica_divergence_messages,
        facts.limits.replica_divergence_ratio * row.messages,
    )
    return any(messages > least for _, messages in facts.divergence)


def _of_replicas(row: Stream, facts: StreamFacts) -> Iterator[tuple[str, float]]:
    offline = [since for replica in row.replicas if (since := _offline_since(replica, facts))]
    if offline:
        yield REPLICA_OFFLINE, min(offline)
        members = len(row.replicas) + 1
        if members - len(offline) == members // 2 + 1:
            yield QUORUM_AT_RISK, max(offline)
    contacts = [last for origin in row.origins if (last := _lost_contact(row, origin, facts))]
    if contacts:
        yield MIRROR_STALE, min(contacts)
    most = _limit(row.config, "peer-lag-critical", facts.limits.replica_lag)
    if any(replica.lag > most and not replica.offline for replica in row.replicas):
        yield REPLICA_LAGGING, facts.now


def _offline_since(replica: Replica, facts: StreamFacts) -> float | None:
    """The leader reports a replica on a killed server as offline only after minutes."""
    if replica.offline:
        return facts.now - (replica.active_seconds or 0.0)
    return facts.servers_down.get(replica.server)


def _lost_contact(row: Stream, origin: StreamOrigin, facts: StreamFacts) -> float | None:
    """When the mirror or source last had contact with its origin; None if it has.

    An origin that stored nothing since then has nothing to send.
    """
    if origin.error:
        return facts.now - (origin.active_seconds or 0.0)
    silence = origin.active_seconds
    if silence is None:  # no contact since it was created
        silence = 0.0 if facts.created is None else facts.now - facts.created
    if silence <= _limit(row.config, "seen-critical", scaled(facts.limits.source_silence)):
        return None
    last_contact, stored = facts.now - silence, facts.origin_stored(origin.name)
    return None if stored is not None and stored <= last_contact else last_contact


def _limit(config: StreamConfig | None, key: str, plain: float) -> float:
    """The owner's own limit takes precedence."""
    limit = config.thresholds.limit(key) if config is not None else None
    return plain if limit is None else limit
