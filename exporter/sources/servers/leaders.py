"""Responses of all servers -> one row per stream and consumer, from its leader only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from operator import attrgetter

import msgspec

from exporter.model import MALFORMED, Consumer, ConsumerConfig, Stream, StreamConfig
from exporter.signals.stream_changes import was_recreated
from exporter.sources.decoding.decode import (
    consumer_config,
    consumer_from_wire,
    has_leader,
    silent_consumer,
    silent_stream,
    stream_config,
    stream_from_wire,
)
from exporter.sources.decoding.row_by_row import PartlyReadStream
from exporter.sources.decoding.shared_configs import SharedConfigs
from exporter.sources.decoding.wire import WireCluster, WireConsumer, WireStream
from exporter.sources.decoding.wire_servers import WireAccountDetail
from exporter.sources.filters import Filters
from exporter.sources.servers.known_rows import KnownRows, is_same, is_same_stream

StreamKey = tuple[str, str]
ConsumerKey = tuple[str, str, str]
# Servers since 2.11 write the required API level into the metadata.
_REQUIRED_LEVEL = "_nats.req.level"
_MOST_GONE = 10_000
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class ConfigCache:
    """Configuration by name; it is fetched less often than the state."""

    metadata_keys: tuple[str, ...] = ()
    streams: dict[StreamKey, StreamConfig] = field(default_factory=dict)
    consumers: dict[ConsumerKey, ConsumerConfig] = field(default_factory=dict)
    required_levels: dict[StreamKey, int] = field(default_factory=dict)  # only those above 0
    default_max_consumers: int | None = None
    unknown: set[str] = field(default_factory=set)  # accounts with a row whose config is not known
    # Creation times of the assets when their configuration was read.
    _created: dict[StreamKey | ConsumerKey, datetime | None] = field(default_factory=dict)
    _shared: SharedConfigs = field(default_factory=SharedConfigs)
    changes: int = 0  # of consumers: a row may keep its configuration until the next one

    def stream(self, account: str, wire: WireStream) -> StreamConfig | None:
        key = (account, wire.name)
        if wire.config is not None:
            read = stream_config(wire.name, wire.config, self.metadata_keys)
            read = self._with_server_default(read)
            if read != self.streams.get(key):  # else it stays the same object
                self.streams[key] = read
            self._note_level(key, wire.config.metadata.get(_REQUIRED_LEVEL, ""))
            self._created[key] = wire.created
        config = self.streams.get(key)
        if config is not None and self._is_another(key, wire.created):
            del self.streams[key]  # the configuration of another stream of this name
            config = None
        if config is None:
            self.unknown.add(account)
        return config

    def consumer(self, account: str, stream: str, wire: WireConsumer) -> ConsumerConfig | None:
        key = (account, stream, wire.name)
        config = self.consumers.get(key)
        if wire.config is not None:
            # An unchanged configuration stays the same object: callers compare by identity.
            read = consumer_config(wire.config, self.metadata_keys)
            if read != config:
                config = self.consumers[key] = self._shared.of(read)
                self.changes += 1
            self._created[key] = wire.created
        elif config is not None and self._is_another(key, wire.created):
            del self.consumers[key]
            self.changes += 1
            config = None
        if config is None:
            self.unknown.add(account)
        return config

    def _is_another(self, key: StreamKey | ConsumerKey, created: datetime | None) -> bool:
        known = self._created.get(key)
        return known != created and was_recreated(known, created)

    def _note_level(self, key: StreamKey, written: str) -> None:
        if written.isdecimal() and int(written) > 0:
            self.required_levels[key] = int(written)
        else:
            self.required_levels.pop(key, None)

    def can_run(self, key: StreamKey, server_level: int | None) -> bool:
        """A downgraded server lists a stream that it cannot run as if it were empty."""
        return server_level is None or self.required_levels.get(key, 0) <= server_level

    def _with_server_default(self, config: StreamConfig) -> StreamConfig:
        # Since 2.15 a stream without a limit of its own still has the server's (1000 consumers).
        if config.max_consumers is None and self.default_max_consumers is not None:
            return msgspec.structs.replace(config, max_consumers=self.default_max_consumers)
        return config

    def forget_gone(
        self, streams: Sequence[Stream], consumers: Sequence[Consumer], *, complete: bool
    ) -> None:
        """Removes what is not listed; after an incomplete fetch only when that is too much.

        What is removed though it exists costs a request.
        """
        kept, listed = len(self.consumers) + len(self.streams), len(consumers) + len(streams)
        if complete or kept > 2 * listed + _MOST_GONE:
            self._keep_only(streams, consumers)

    def _keep_only(self, streams: Iterable[Stream], consumers: Iterable[Consumer]) -> None:
        named_streams = {(row.account, row.name) for row in streams}
        self.streams = {key: kept for key, kept in self.streams.items() if key in named_streams}
        self.required_levels = {
            key: kept for key, kept in self.required_levels.items() if key in named_streams
        }
        named = {(row.account, row.stream, row.name) for row in consumers}
        self.consumers = {key: kept for key, kept in self.consumers.items() if key in named}
        self._created = {
            key: kept for key, kept in self._created.items() if key in named or key in named_streams
        }


@dataclass(slots=True)
class _StreamRows:
    leader_row: WireStream | None = None
    leader: str = ""
    unsupported: bool = False  # its leader is a server that is too old for it
    seen_by: dict[str, int] = field(default_factory=dict)  # server -> its own count of messages
    peers: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)  # the leaders that its followers report


def leads(cluster: WireCluster | None, server: str) -> bool:
    """Whether `server` is the leader; a stand-alone server may omit the cluster."""
    return cluster is None or cluster.leader == server


@dataclass(slots=True)
class LeaderRows:
    """Collects the account details of each server, then returns the rows of the leaders."""

    configs: ConfigCache
    filters: Filters
    known: KnownRows
    # Servers that are up but did not list their streams: what they lead is unknown.
    without_jsz: frozenset[str] = frozenset()
    starting: frozenset[str] = frozenset()  # servers that have just started
    _streams: dict[StreamKey, _StreamRows] = field(default_factory=dict)
    # By stream, then by name: no key is made for each of 100,000 consumers.
    _led: dict[StreamKey, dict[str, Consumer]] = field(default_factory=dict)
    _followed: dict[ConsumerKey, set[str]] = field(default_factory=dict)  # -> its hosts
    _unknown: set[ConsumerKey] = field(default_factory=set)
    # Assets with a malformed row -> the servers that sent it.
    _unread_streams: dict[StreamKey, set[str]] = field(default_factory=dict)
    _unread_consumers: dict[ConsumerKey, set[str]] = field(default_factory=dict)
    _settled_before: datetime | None = None  # of the server whose rows are being added
    _stream_rows: tuple[Stream, ...] | None = None

    def add(
        self,
        server: str,
        accounts: Iterable[WireAccountDetail],
        api_level: int | None = None,
        settled_before: datetime | None = None,
    ) -> None:
        self._settled_before = settled_before
        for account in accounts:
            if not self.filters.accounts.wants(account.name):
                continue
            # Servers list streams in any order; the same one at each poll saves searching.
            for stream in sorted(account.stream_detail or (), key=_name):
                if self.filters.streams.wants(stream.name):
                    self._add_stream(server, account.name, stream, api_level)

    def _add_stream(
        self, server: str, account: str, wire: WireStream, api_level: int | None
    ) -> None:
        key = (account, wire.name)
        if isinstance(wire, PartlyReadStream):
            self._note_unread(server, key, wire)
            if wire.detail:
                return
        rows = self._streams.setdefault(key, _StreamRows())
        rows.seen_by[server] = wire.state.messages
        self.configs.stream(account, wire)
        if wire.cluster is not None:
            rows.peers.update(peer.name for peer in wire.cluster.replicas)
            rows.named.add(wire.cluster.leader)
        if leads(wire.cluster, server):
            if not self.configs.can_run(key, api_level):
                rows.unsupported = True
            elif _newer(wire, rows.leader_row):
                rows.leader_row, rows.leader = wire, server
        if wire.consumer_detail:
            self._add_consumers(server, account, wire)

    def _note_unread(self, server: str, key: StreamKey, wire: PartlyReadStream) -> None:
        if wire.detail and wire.name:
            self._unread_streams.setdefault(key, set()).add(server)
        for row in wire.unread:
            if row.name and self.filters.consumers.wants(row.name):
                self._unread_consumers.setdefault((*key, row.name), set()).add(server)

    def _add_consumers(self, server: str, account: str, stream: WireStream) -> None:
        name, first_seq, configs = stream.name, stream.state.first_seq, self.configs
        every, wires = self.filters.consumers.open, stream.consumer_detail or ()
        known = self.known.of(server, account, name, len(wires))
        led = self._led.setdefault((account, name), {})
        for place, wire in enumerate(wires):
            if not every and not self.filters.consumers.wants(wire.name):
                continue
            before = known[place]
            if before is None or not self.known.keeps_config(before, wire):
                before, config = None, configs.consumer(account, name, wire)
            else:
                config = before.config
            if config is not None and config.internal:
                continue
            if wire.cluster is not None and not self._leads_well(wire.cluster, server):
                self._add_followed((account, name, wire.name), server, wire.cluster)
                continue
            if before is not None and is_same(before, wire, first_seq):
                row = before
            else:
                row = consumer_from_wire(account, name, wire, config, server, first_seq)
                known[place] = row
            rival = led.get(row.name)
            # During an election two servers may both report themselves as the leader; the one that
            # delivered more is the newer.
            if rival is None or row.delivered_consumer_seq > rival.delivered_consumer_seq:
                led[row.name] = row

    def _leads_well(self, cluster: WireCluster, server: str) -> bool:
        if cluster.leader != server:
            return False
        # A leader without `leader_since` was not yet confirmed by its peers.
        since, before = cluster.leader_since, self._settled_before
        return before is None or not cluster.replicas or (since is not None and since <= before)

    def _add_followed(self, key: ConsumerKey, server: str, cluster: WireCluster) -> None:
        if cluster.leader in self.without_jsz:
            self._unknown.add(key)
        hosts = self._followed.setdefault(key, set())
        hosts.add(server)
        hosts.update(peer.name for peer in cluster.replicas)

    def streams(self) -> tuple[Stream, ...]:
        """Call it after all servers were added: the rows are made once."""
        if self._stream_rows is None:
            self._stream_rows = tuple(self._made_streams())
            self.known.streams = {(row.account, row.name): row for row in self._stream_rows}
        return self._stream_rows

    def _made_streams(self) -> list[Stream]:
        found = []
        for (account, name), rows in self._streams.items():
            config = self.configs.streams.get((account, name))
            if rows.leader_row is None:
                if (account, name) in self._unread_streams:
                    continue
                if not rows.named.isdisjoint(self.without_jsz):
                    continue
                hosts = tuple(rows.peers | set(rows.seen_by))
                reason = "offline" if rows.unsupported else "no_leader"
                found.append(silent_stream(account, name, reason, config, hosts))
                continue
            found.append(self._led_stream(account, name, rows, rows.leader_row))
        for key, servers in self._unread_streams.items():
            known = self._streams.get(key)
            if known is None or known.leader_row is None:
                hosts = tuple(servers | (known.peers | set(known.seen_by) if known else set()))
                config = self.configs.streams.get(key)
                found.append(silent_stream(*key, MALFORMED, config, hosts))
        return found

    def _led_stream(self, account: str, name: str, rows: _StreamRows, wire: WireStream) -> Stream:
        key = (account, name)
        config, before = self.configs.streams.get(key), self.known.streams.get(key)
        followers = tuple(
            (server, count) for server, count in rows.seen_by.items() if server != rows.leader
        )
        if (
            before is not None
            and not followers
            and is_same_stream(before, wire, config, rows.leader)
        ):
            return before
        return stream_from_wire(account, wire, config, rows.leader, followers)

    def consumer_counts(self) -> Counter[str]:
        """By account, of those that have a leader."""
        found = Counter[str]()
        for (account, _), led in self._led.items():
            found[account] += len(led)
        return found

    def consumers(self) -> tuple[Consumer, ...]:
        leaderless = (
            silent_consumer(*key, "no_leader", self.configs.consumers.get(key), tuple(hosts))
            for key, hosts in self._followed.items()
            if not self._is_led(key)
            and key not in self._unknown
            and key not in self._unread_consumers
        )
        unread = (
            silent_consumer(*key, MALFORMED, self.configs.consumers.get(key), tuple(hosts))
            for key, hosts in self._unread_consumers.items()
            if not self._is_led(key)
        )
        led = chain.from_iterable(found.values() for found in self._led.values())
        return (*led, *leaderless, *unread)

    def _is_led(self, key: ConsumerKey) -> bool:
        account, stream, name = key
        return name in self._led.get((account, stream), ())


_name = attrgetter("name")


def _newer(row: WireStream, than: WireStream | None) -> bool:
    """Of two rows with a leader, the later elected one wins, then the higher sequence."""
    return than is None or _age_key(row) > _age_key(than)


def _age_key(row: WireStream) -> tuple[datetime, int]:
    since = row.cluster.leader_since if row.cluster and has_leader(row.cluster) else None
    return since or _LONG_AGO, row.state.last_seq
