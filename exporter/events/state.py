"""Event state: counts events, and forgets streams and consumers that are gone. Pure."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice

from exporter.events import advisories
from exporter.events.ack_samples import BOUNDS_SECONDS, AckSample
from exporter.events.advisories import Advisory
from exporter.events.bounded_states import BoundedStates, named_in
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
_PORTION = 1_000  # consumers to count before other tasks run
# Copies of one advisory arrive close together; a restart of a large system sends many at once.
_MOST_IDS = 65_536
_MOST_ADVISORY_SERIES = 10_000  # accounts times kinds
_MOST_CODES = 64  # error codes of one stream


@dataclass(slots=True)
class _ConsumerState:
    naks: int = 0
    exhausted: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_EXHAUSTED_SEQS))
    exhausted_total: int = 0
    exhausted_at: float | None = None
    terms: Counter[str] = field(default_factory=Counter)
    ack_times: Tally | None = None
    last_counts: ConsumerCounts | None = None  # None: changed since

    def counts(self) -> ConsumerCounts:
        if self.last_counts is None:
            self.last_counts = self._counts()
        return self.last_counts

    def _counts(self) -> ConsumerCounts:
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
    _consumers: BoundedStates[ConsumerKey, _ConsumerState] = field(
        default_factory=lambda: BoundedStates(_ConsumerState)
    )
    _streams: BoundedStates[StreamKey, _StreamState] = field(
        default_factory=lambda: BoundedStates(_StreamState, _is_unnamed)
    )
    _advisories: Counter[tuple[str, str]] = field(default_factory=Counter)
    _ids: dict[str, None] = field(default_factory=dict)  # in the order of arrival
    _dropped: int = 0  # beyond other bounds

    @property
    def named(self) -> bool:
        """Whether the name of the own account is known."""
        return bool(self._own_names)

    @property
    def own_account(self) -> str:
        return self._own_names[0] if self._own_names else UNKNOWN_ACCOUNT

    def name_account(self, name: str, *other_names: str) -> None:
        """Sets the name of OWN, and other names that copies for the system account may use.

        The same name again adds to the other names.
        """
        known = self._own_names if name in self._own_names else ()
        self._own_names = tuple(dict.fromkeys(filter(None, (name, *other_names, *known))))
        for account, kind in [key for key in self._advisories if key[0] in self._own_names]:
            self._advisories[OWN, kind] += self._advisories.pop((account, kind))
        for account, stream in [key for key in self._streams.states if key[0] in self._own_names]:
            copy, own = self._streams.pop((account, stream)), self._streams.of((OWN, stream))
            if own is None:
                continue
            own.quorum_lost += copy.quorum_lost
            own.quorum_lost_at = max(
                filter(None, (own.quorum_lost_at, copy.quorum_lost_at)), default=None
            )

    def record(self, account: str, advisory: Advisory, *, reasons_reported: bool = True) -> None:
        """`account`: OWN, or the name in a copy for the system account."""
        if advisory.kind in advisories.SENT_TWICE and self._is_duplicate(advisory.id):
            return
        account = self._stored(account)
        self._count_advisory(account, advisory.kind)
        if advisory.consumer:
            self._record_consumer(account, advisory, reasons_reported=reasons_reported)
        elif advisory.stream:
            self._record_stream(account, advisory)

    def record_unusable(self, account: str, kind: str) -> None:
        """Counts an event that is about no stream or consumer here: MALFORMED or OTHER_DOMAIN."""
        self._count_advisory(self._stored(account), kind)

    def record_ack(self, sample: AckSample) -> None:
        state = self._changed_consumer((OWN, sample.stream, sample.consumer))
        if state is None:
            return
        if state.ack_times is None:
            state.ack_times = Tally(BOUNDS_SECONDS)
        state.ack_times.note(sample.seconds)

    def record_unstored(self, unstored: Unstored) -> None:
        state = self._streams.of((OWN, unstored.stream))
        if state is None:
            return
        if unstored.code is None:
            state.duplicates += 1
        elif unstored.code in state.rejections or len(state.rejections) < _MOST_CODES:
            state.rejections[unstored.code] += 1
        else:
            self._dropped += 1

    def counts(
        self,
        consumers: Mapping[ConsumerKey, ConsumerCounts] | None = None,
        *,
        connected_since: float | None = None,
        tap: TapState | None = None,
    ) -> EventCounts:
        """`consumers`: where `consumer_counts` was read in portions."""
        if consumers is None:
            consumers = dict(
                chain.from_iterable(portion.items() for portion in self.consumer_counts())
            )
        return EventCounts(
            consumers=consumers,
            streams={
                (self._shown(account), stream): state.counts()
                for (account, stream), state in self._streams.states.items()
            },
            advisories={
                (self._shown(account), kind): number
                for (account, kind), number in self._advisories.items()
            },
            connected_since=connected_since,
            tap=tap,
        )

    def consumer_counts(self) -> Iterator[dict[ConsumerKey, ConsumerCounts]]:
        """In portions, so that other tasks can run."""
        states = iter(list(self._consumers.states.items()))
        while portion := tuple(islice(states, _PORTION)):
            yield {
                (self._shown(account), stream, name): state.counts()
                for (account, stream, name), state in portion
            }

    @property
    def dropped(self) -> int:
        """Events that exceeded a bound of the memory."""
        return self._dropped + self._consumers.dropped + self._streams.dropped

    @property
    def forgotten(self) -> int:
        """States beyond the bound of those that partial polls do not name."""
        return self._consumers.forgotten + self._streams.forgotten

    def forget_absent(
        self, consumers: Collection[ConsumerKey], streams: Collection[StreamKey], *, complete: bool
    ) -> Iterator[None]:
        """Removes what two polls in a row did not name. Yields, so that other tasks can run."""
        named = named_in(consumers, self._shown)
        yield from self._consumers.forget_absent(named, complete=complete)
        named = named_in(streams, self._shown)
        yield from self._streams.forget_absent(named, complete=complete)

    def _record_consumer(self, account: str, advisory: Advisory, *, reasons_reported: bool) -> None:
        kind = advisory.kind
        if kind not in (advisories.NAKED, advisories.EXHAUSTED, advisories.TERMINATED):
            return
        state = self._changed_consumer((account, advisory.stream, advisory.consumer))
        if state is None:
            return
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
        if advisory.kind not in (advisories.QUORUM_LOST, advisories.RESTORED):
            return
        state = self._streams.of((account, advisory.stream))
        if state is None:
            return
        if advisory.kind == advisories.QUORUM_LOST:
            state.quorum_lost, state.quorum_lost_at = state.quorum_lost + 1, self.clock()
        else:
            state.restores, state.restored_at = state.restores + 1, self.clock()

    def _count_advisory(self, account: str, kind: str) -> None:
        key = (account, kind)
        if key in self._advisories or len(self._advisories) < _MOST_ADVISORY_SERIES:
            self._advisories[key] += 1
        else:
            self._dropped += 1

    def _changed_consumer(self, key: ConsumerKey) -> _ConsumerState | None:
        state = self._consumers.of(key)
        if state is not None:
            state.last_counts = None
        return state

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


def _is_unnamed(key: StreamKey) -> bool:
    """Rejections that name no stream."""
    return key[1] == UNNAMED_STREAM
