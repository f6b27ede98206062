"""Event state: counts events, and forgets streams and consumers that are gone. Pure."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from exporter.events import advisories
from exporter.events.ack_samples import BOUNDS_SECONDS, AckSample
from exporter.events.advisories import Advisory
from exporter.events.counts import (
    ConsumerCounts,
    ConsumerKey,
    EventCounts,
    StreamCounts,
    StreamKey,
    TapState,
)
from exporter.events.publish_acks import UNNAMED_STREAM, Unstored
from exporter.exposition.histogram import Tally

# Key of the own account, whose name may become known later. No account has this name.
OWN = "\0own"
# Key of events of the whole system.
NO_ACCOUNT = ""
# Shown until the own account's name is known; the account source uses the same.
UNKNOWN_ACCOUNT = "account"

_MOST_EXHAUSTED_SEQS = 1_000
# Copies of one advisory arrive close together; a restart of a large system sends many at once.
_MOST_IDS = 65_536
# Any client of the account can send replies that look like acks: bound the memory.
_MOST_STREAMS = 200_000

Key = TypeVar("Key", bound=tuple[str, ...])
State = TypeVar("State")


@dataclass(slots=True)
class _ConsumerState:
    naks: int = 0
    exhausted: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_EXHAUSTED_SEQS))
    exhausted_total: int = 0
    exhausted_at: float | None = None
    terms: Counter[str] = field(default_factory=Counter)
    ack_times: Tally | None = None

    def counts(self) -> ConsumerCounts:
        return ConsumerCounts(
            naks=self.naks,
            exhausted=self.exhausted_total,
            last_exhausted_seq=self.exhausted[-1] if self.exhausted else None,
            exhausted_seqs=frozenset(self.exhausted),
            terms=tuple(sorted(self.terms.items())),
            ack_times=self.ack_times.histogram() if self.ack_times else None,
            exhausted_at=self.exhausted_at,
        )


@dataclass(slots=True)
class _StreamState:
    quorum_lost: int = 0
    restores: int = 0
    duplicates: int = 0
    rejections: Counter[int] = field(default_factory=Counter)
    quorum_lost_at: float | None = None
    restored_at: float | None = None

    def counts(self) -> StreamCounts:
        rejections = tuple(sorted(self.rejections.items()))
        return StreamCounts(
            self.quorum_lost,
            self.restores,
            self.duplicates,
            rejections,
            self.quorum_lost_at,
            self.restored_at,
        )


@dataclass(slots=True)
class EventState:
    """Filled by the listeners of one system.

    `account_names`: account names by id; copies for the system account contain the id.
    """

    account_names: Mapping[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.time
    _own_names: tuple[str, ...] = ()
    _consumers: dict[ConsumerKey, _ConsumerState] = field(default_factory=dict)
    _streams: dict[StreamKey, _StreamState] = field(default_factory=dict)
    _advisories: Counter[tuple[str, str]] = field(default_factory=Counter)
    _ids: dict[str, None] = field(default_factory=dict)  # in the order of arrival
    _not_named: set[tuple[str, ...]] = field(default_factory=set)

    @property
    def named(self) -> bool:
        """Whether the name of the own account is known."""
        return bool(self._own_names)

    @property
    def own_account(self) -> str:
        return self._own_names[0] if self._own_names else UNKNOWN_ACCOUNT

    def name_account(self, name: str, *other_names: str) -> None:
        """Sets the name of OWN, and other names that copies for the system account may use."""
        self._own_names = tuple(filter(None, (name, *other_names)))
        for account, kind in [key for key in self._advisories if key[0] in self._own_names]:
            self._advisories[OWN, kind] += self._advisories.pop((account, kind))
        for account, stream in [key for key in self._streams if key[0] in self._own_names]:
            copy, own = self._streams.pop((account, stream)), self._stream((OWN, stream))
            own.quorum_lost += copy.quorum_lost
            own.quorum_lost_at = max(
                filter(None, (own.quorum_lost_at, copy.quorum_lost_at)), default=None
            )

    def record(self, account: str, advisory: Advisory, *, reasons_reported: bool = True) -> None:
        """`account`: OWN, or the name in a copy for the system account."""
        if advisory.kind in advisories.SENT_TWICE and self._is_duplicate(advisory.id):
            return
        account = self._stored(account)
        self._advisories[account, advisory.kind] += 1
        if advisory.consumer:
            self._record_consumer(account, advisory, reasons_reported=reasons_reported)
        elif advisory.stream:
            self._record_stream(account, advisory)

    def record_unusable(self, account: str, kind: str) -> None:
        """Counts an event that is about no stream or consumer here: MALFORMED or OTHER_DOMAIN."""
        self._advisories[self._stored(account), kind] += 1

    def record_ack(self, sample: AckSample) -> None:
        state = self._consumer((OWN, sample.stream, sample.consumer))
        if state.ack_times is None:
            state.ack_times = Tally(BOUNDS_SECONDS)
        state.ack_times.note(sample.seconds)

    def record_unstored(self, unstored: Unstored) -> None:
        key = (OWN, unstored.stream)
        if key not in self._streams and len(self._streams) >= _MOST_STREAMS:
            key = (OWN, UNNAMED_STREAM)
        state = self._stream(key)
        if unstored.code is None:
            state.duplicates += 1
        else:
            state.rejections[unstored.code] += 1

    def counts(
        self, *, connected_since: float | None = None, tap: TapState | None = None
    ) -> EventCounts:
        return EventCounts(
            consumers={
                (self._shown(account), stream, name): state.counts()
                for (account, stream, name), state in self._consumers.items()
            },
            streams={
                (self._shown(account), stream): state.counts()
                for (account, stream), state in self._streams.items()
            },
            advisories={
                (self._shown(account), kind): number
                for (account, kind), number in self._advisories.items()
            },
            connected_since=connected_since,
            tap=tap,
        )

    def keep_only(self, consumers: Collection[ConsumerKey], streams: Collection[StreamKey]) -> None:
        """Removes streams and consumers that are absent from two complete responses in a row.

        One is not enough: a stream may be younger than the response.
        """
        unnamed: set[tuple[str, ...]] = set()
        self._consumers = self._named(self._consumers, consumers, unnamed)
        self._streams = self._named(self._streams, streams, unnamed)
        self._not_named = unnamed

    def _named(
        self, states: Mapping[Key, State], names: Collection[Key], unnamed: set[tuple[str, ...]]
    ) -> dict[Key, State]:
        kept: dict[Key, State] = {}
        for key, state in states.items():
            shown = (self._shown(key[0]), *key[1:])
            if shown in names or key[1] == UNNAMED_STREAM:
                kept[key] = state
            elif key not in self._not_named:
                kept[key] = state
                unnamed.add(key)
        return kept

    def _record_consumer(self, account: str, advisory: Advisory, *, reasons_reported: bool) -> None:
        kind = advisory.kind
        if kind not in (advisories.NAKED, advisories.EXHAUSTED, advisories.TERMINATED):
            return
        state = self._consumer((account, advisory.stream, advisory.consumer))
        if kind == advisories.NAKED:
            state.naks += 1
        elif kind == advisories.EXHAUSTED:
            state.exhausted_total += 1
            state.exhausted_at = self.clock()
            state.exhausted.append(advisory.stream_seq)
        else:
            cause = advisories.term_cause(advisory.reason, reasons_reported=reasons_reported)
            state.terms[cause] += 1

    def _record_stream(self, account: str, advisory: Advisory) -> None:
        if advisory.kind == advisories.QUORUM_LOST:
            state = self._stream((account, advisory.stream))
            state.quorum_lost, state.quorum_lost_at = state.quorum_lost + 1, self.clock()
        elif advisory.kind == advisories.RESTORED:
            state = self._stream((account, advisory.stream))
            state.restores, state.restored_at = state.restores + 1, self.clock()

    def _consumer(self, key: ConsumerKey) -> _ConsumerState:
        return self._consumers.get(key) or self._consumers.setdefault(key, _ConsumerState())

    def _stream(self, key: StreamKey) -> _StreamState:
        return self._streams.get(key) or self._streams.setdefault(key, _StreamState())

    def _is_duplicate(self, advisory_id: str) -> bool:
        if advisory_id in self._ids:
            return True
        if advisory_id:
            self._ids[advisory_id] = None
            if len(self._ids) > _MOST_IDS:
                del self._ids[next(iter(self._ids))]
        return False

    def _stored(self, account: str) -> str:
        """Joins a copy for the system account with the account's own event."""
        return OWN if account in self._own_names else account

    def _shown(self, account: str) -> str:
        if account == OWN:
            return self.own_account
        return self.account_names.get(account, account)
