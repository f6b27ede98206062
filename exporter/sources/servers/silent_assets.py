"""Streams and consumers of servers that do not respond now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from exporter.model import Consumer, Stream
from exporter.sources.decoding.decode import silent_consumer, silent_stream

_EMPTY_LIST_SECONDS = 60.0


@dataclass(slots=True)
class SilentAssets:
    """Streams and consumers that are absent from all responses while one of their servers is down.

    Without this a killed server would look as if its streams had been deleted.
    """

    forget_after: float
    _streams: tuple[Stream, ...] = ()
    _consumers: tuple[Consumer, ...] = ()
    _silent_since: dict[tuple[str, ...], float] = field(default_factory=dict)

    def with_silent(
        self,
        now: float,
        streams: tuple[Stream, ...],
        consumers: tuple[Consumer, ...],
        down: frozenset[str],
        without_streams: frozenset[str] = frozenset(),
    ) -> tuple[tuple[Stream, ...], tuple[Consumer, ...]]:
        """`down`: known servers that do not respond. `without_streams`: servers that respond but list
        no streams, as one does before it shuts down; their streams are kept but not reported."""
        held_streams = tuple(self._held_streams(now, streams, down, without_streams))
        held_consumers = tuple(self._held_consumers(now, consumers, down, without_streams))
        self._streams, self._consumers = streams + held_streams, consumers + held_consumers
        held: set[tuple[str, ...]] = {(row.account, row.name) for row in held_streams}
        held.update((row.account, row.stream, row.name) for row in held_consumers)
        self._silent_since = {key: self._silent_since[key] for key in held}
        return (
            streams + tuple(row for row in held_streams if not down.isdisjoint(row.hosts)),
            consumers + tuple(row for row in held_consumers if not down.isdisjoint(row.hosts)),
        )

    def consumer_counts(self) -> Counter[tuple[str, str]]:
        """By account and stream, including those that are kept but not reported."""
        return Counter((row.account, row.stream) for row in self._consumers)

    def _held_streams(
        self,
        now: float,
        present: tuple[Stream, ...],
        down: frozenset[str],
        without_streams: frozenset[str],
    ) -> Iterator[Stream]:
        if not down and not without_streams:
            return
        named = {(row.account, row.name) for row in present}
        for row in self._streams:
            key = (row.account, row.name)
            if key not in named and self._is_held(key, row.hosts, now, down, without_streams):
                yield silent_stream(row.account, row.name, "server_down", row.config, row.hosts)

    def _held_consumers(
        self,
        now: float,
        present: tuple[Consumer, ...],
        down: frozenset[str],
        without_streams: frozenset[str],
    ) -> Iterator[Consumer]:
        if not down and not without_streams:
            return
        named = {(row.account, row.stream, row.name) for row in present}
        for row in self._consumers:
            key, hosts = (row.account, row.stream, row.name), consumer_hosts(row)
            if key not in named and self._is_held(key, hosts, now, down, without_streams):
                yield silent_consumer(*key, "server_down", row.config, hosts)

    def _is_held(
        self,
        key: tuple[str, ...],
        hosts: tuple[str, ...],
        now: float,
        down: frozenset[str],
        without_streams: frozenset[str],
    ) -> bool:
        if down.isdisjoint(hosts) and without_streams.isdisjoint(hosts):
            return False
        # A stream that a running server no longer lists was deleted, unless the server is shutting down.
        longest = _EMPTY_LIST_SECONDS if down.isdisjoint(hosts) else self.forget_after
        return now - self._silent_since.setdefault(key, now) <= longest


def consumer_hosts(row: Consumer) -> tuple[str, ...]:
    return row.hosts or (row.leader, *(replica.server for replica in row.replicas))
