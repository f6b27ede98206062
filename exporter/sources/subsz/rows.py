"""Subscriptions of one server -> their streams and consumers, and what they received. Pure.

JetStream subscribes like a client: the leader of a stream to its subjects, the leader of a consumer
to its acks and pull requests. Each leader has a connection number that no client shares.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from exporter.sources.decoding.wire import WireStream
from exporter.sources.decoding.wire_servers import WireAccountDetail
from exporter.sources.servers.leaders import leads
from exporter.sources.subsz.wire import WireSubscription
from exporter.subscription_counts import (
    EXPORTER_GROUP,
    CounterId,
    Counters,
    StreamKey,
    StreamObservation,
)

_ACK = "$JS.ACK."
_PULL = "$JS.API.CONSUMER.MSG.NEXT."
_DIRECT_GET = "$JS.API.DIRECT.GET."
# Position of stream and consumer in an ack subject, by its number of tokens. Since 2.14 servers
# subscribe to a second form too, with domain and account in front.
_ACK_NAMES = {9: slice(2, 4), 11: slice(4, 6)}
_ORIGINAL, _ALL_COPIES = "", "*"
_INGEST_QUEUE = "messages"
_GROUP_QUEUES = (" entry", " committedEntry")  # proposed; agreed but not stored yet
_EXHAUSTED = ["$JS", "EVENT", "ADVISORY", "CONSUMER", "MAX_DELIVERIES"]
_EXHAUSTED_TOKENS = len(_EXHAUSTED) + 2  # stream and consumer follow


@dataclass(frozen=True, slots=True)
class LedStream:
    """A stream that this server leads and that has subjects."""

    account: str  # as it is shown
    account_id: str  # as subscriptions name it
    name: str
    subjects: frozenset[str]
    sourced: bool
    wire: WireStream

    @property
    def key(self) -> StreamKey:
        return (self.account, self.name)

    def owns(self, row: WireSubscription) -> bool:
        return row.subject in self.subjects and row.account == self.account_id


def led_streams(server: str, accounts: Iterable[WireAccountDetail]) -> list[LedStream]:
    return [
        LedStream(
            detail.name,
            detail.id or detail.name,
            stream.name,
            frozenset(stream.config.subjects),
            bool(stream.config.sources),
            stream,
        )
        for detail in accounts
        for stream in detail.stream_detail or ()
        if stream.config is not None and stream.config.subjects and leads(stream.cluster, server)
    ]


@dataclass(slots=True)
class ServerRows:
    """The subscriptions of one server that were read."""

    server: str
    server_id: str
    led: list[LedStream]
    accounts: list[WireAccountDetail]
    # By account; "" for one list of all accounts.
    lists: dict[str, list[WireSubscription]] = field(default_factory=dict)
    queues: Collection[str] | None = None  # non-empty queues after that; None: unknown
    owners: dict[StreamKey, int] = field(default_factory=dict)  # the streams' own connections
    # With the account whose list contains the row.
    _by_connection: dict[int, list[tuple[str, WireSubscription]]] = field(default_factory=dict)
    _by_subject: dict[tuple[str, str], set[int]] = field(default_factory=dict)

    def index(self) -> None:
        by_connection, by_subject = defaultdict(list), defaultdict(set)
        for listed_in, rows in self.lists.items():
            for row in rows:
                by_connection[row.cid].append((listed_in, row))
                if not row.qgroup:  # a stream never uses a queue group
                    by_subject[row.account, row.subject].add(row.cid)
        self._by_connection, self._by_subject = by_connection, by_subject

    def candidates(self, stream: LedStream) -> set[int]:
        """The connections that may belong to the stream: they subscribe to all its subjects.

        One with other subscriptions is a client, unless the stream has sources.
        """
        listeners_found = [
            self._by_subject.get((stream.account_id, subject), set()) for subject in stream.subjects
        ]
        return {
            cid
            for cid in set.intersection(*listeners_found)
            if stream.sourced or not self._subscribes_to_more(cid, stream)
        }

    def _subscribes_to_more(self, cid: int, stream: LedStream) -> bool:
        own, direct = self._own_sids(cid, stream), _DIRECT_GET + stream.name
        return any(
            row.sid not in own
            and row.subject != direct
            and not row.subject.startswith(f"{direct}.")
            for _, row in self._by_connection[cid]
        )

    def _own_sids(self, cid: int, stream: LedStream) -> Counter[str]:
        return Counter(row.sid for _, row in self._by_connection[cid] if stream.owns(row))

    def stream_observation(self, stream: LedStream, cid: int) -> StreamObservation:
        own, received = self._own_sids(cid, stream), defaultdict[CounterId, int](int)
        for listed_in, row in self._by_connection[cid]:
            if row.sid in own:
                copy = _which_copy(stream, listed_in, row, own[row.sid])
                received[self.server_id, cid, row.sid, copy] += row.msgs
        wire, waits = stream.wire, self._waits_in_queue(stream)
        counters = tuple(received.items())
        return StreamObservation(self.server, wire.created, wire.state.last_seq, waits, counters)

    def _waits_in_queue(self, stream: LedStream) -> bool | None:
        if self.queues is None:
            return None
        cluster, account = stream.wire.cluster, f"[ACC:{stream.account_id}] "
        if f"{account}stream '{stream.name}' {_INGEST_QUEUE}" in self.queues:
            return True
        # Servers before 2.10.4 do not report the group's name: then any stream's group counts.
        named = cluster is not None and cluster.raft_group
        group = f"{account}RAFT '{named}'" if named else f"{account}RAFT 'S-"
        return any(name.startswith(group) and name.endswith(_GROUP_QUEUES) for name in self.queues)

    def consumers(self) -> tuple[dict[tuple[str, str, str], Counters], ...]:
        """Acks and pulls, by account id, stream and consumer."""
        listeners_found: dict[tuple[str, str, str], dict[int, _ConsumerRows]] = {}
        for row in self._all():
            named = _consumer_of(row.subject)
            if named is not None and not row.qgroup:
                connections = listeners_found.setdefault((row.account, *named), {})
                connections.setdefault(row.cid, _ConsumerRows()).add(row)
        acks, pulls = {}, {}
        for key, connections in listeners_found.items():
            own = _most_complete(connections)
            if own is not None:
                acks[key] = self._counters(own, connections[own].acks)
                pulls[key] = self._counters(own, connections[own].pulls)
        return acks, pulls

    def listeners(self) -> Listeners:
        """The subscriptions that may receive max-deliveries advisories, without exporters."""
        found = Listeners()
        for listed_in, rows in self.lists.items():
            for row in rows:
                if row.qgroup.startswith(EXPORTER_GROUP) or not matches_exhausted(row.subject):
                    continue
                copies = 1 if listed_in else self._copies(row)
                found.imported |= copies > 1
                if copies == 1:
                    found.by_account.setdefault(listed_in or row.account, set()).add(row.subject)
        return found

    def _copies(self, row: WireSubscription) -> int:
        """More than one: it also receives from another account's export, and no list shows which."""
        return sum(1 for _, one in self._by_connection[row.cid] if one.sid == row.sid)

    def connections(self) -> Iterable[int]:
        return self._by_connection

    def covers(self, account_id: str) -> bool:
        """Whether the subscriptions of that account were read."""
        return "" in self.lists or account_id in self.lists

    def _counters(self, cid: int, received: Iterable[tuple[str, int]]) -> Counters:
        return tuple(((self.server_id, cid, sid, _ORIGINAL), msgs) for sid, msgs in received)

    def _all(self) -> Iterable[WireSubscription]:
        return (row for rows in self.lists.values() for row in rows)


def _which_copy(stream: LedStream, listed_in: str, row: WireSubscription, originals: int) -> str:
    """Messages of another account's export are counted at a copy of the subscription there.

    In one list of all accounts, a copy on the same subject looks like the original.
    """
    if listed_in:
        return _ORIGINAL if listed_in == stream.account_id else row.subject
    if not stream.owns(row):
        return row.subject
    return _ORIGINAL if originals == 1 else _ALL_COPIES


@dataclass(slots=True)
class Listeners:
    by_account: dict[str, set[str]] = field(default_factory=dict)  # account id -> subjects
    imported: bool = False  # a subscription receives from an unknown other account


@dataclass(slots=True)
class _ConsumerRows:
    acks: list[tuple[str, int]] = field(default_factory=list)
    pulls: list[tuple[str, int]] = field(default_factory=list)

    def add(self, row: WireSubscription) -> None:
        (self.acks if row.subject.startswith(_ACK) else self.pulls).append((row.sid, row.msgs))

    def __len__(self) -> int:
        return len(self.acks) + len(self.pulls)


def _most_complete(connections: dict[int, _ConsumerRows]) -> int | None:
    """The consumer's own connection: only it subscribes to acks and pulls; None when ambiguous."""
    if len(connections) == 1:
        return next(iter(connections))
    most = max(map(len, connections.values()))
    best = [cid for cid, rows in connections.items() if len(rows) == most]
    return best[0] if len(best) == 1 else None


def _consumer_of(subject: str) -> tuple[str, str] | None:
    if subject.startswith(_ACK):
        tokens = subject.split(".")
        place = _ACK_NAMES.get(len(tokens))
        return None if place is None else (tokens[place][0], tokens[place][1])
    if subject.startswith(_PULL):
        stream, _, consumer = subject[len(_PULL) :].partition(".")
        return (stream, consumer) if consumer and "." not in consumer else None
    return None


def matches_exhausted(subject: str) -> bool:
    tokens = subject.split(".")
    for place, word in enumerate(tokens):
        if word == ">":
            return True
        if place < len(_EXHAUSTED) and word not in ("*", _EXHAUSTED[place]):
            return False
    return len(tokens) == _EXHAUSTED_TOKENS
