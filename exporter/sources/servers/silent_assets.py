"""Servers, streams and consumers that a source saw before and that do not respond now."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from exporter.model import Consumer, Server, Stream
from exporter.sources.decoding.decode import silent_consumer, silent_stream

EXPECTED_WINDOW_SECONDS = 3600.0
_EMPTY_LIST_SECONDS = 60.0


@dataclass(slots=True)
class ServerRegistry:
    """A server once seen stays, as down, until it has been silent for `forget_after` seconds."""

    forget_after: float
    configured: int | None = None
    _last: dict[str, tuple[float, Server]] = field(default_factory=dict)
    _counts: deque[tuple[float, int]] = field(default_factory=deque)
    _last_discovery: float = float("-inf")

    def with_silent(self, now: float, succeeded: Iterable[Server]) -> tuple[Server, ...]:
        present = {server.name: server for server in succeeded}
        unnamed_hosts = {server.host for server in present.values() if server.name == server.id}
        for name, (seen, server) in list(self._last.items()):
            # A server without a configured name has a new one after each restart; the old name is
            # not a server that is down.
            replaced = server.name == server.id and server.host in unnamed_hosts
            if name not in present and (now - seen > self.forget_after or replaced):
                del self._last[name]
        for name, server in present.items():
            self._last[name] = (now, server)
        self._note_count(now, len(present))
        silent = [_down(server) for name, (_, server) in self._last.items() if name not in present]
        return (*present.values(), *silent)

    def expected(self) -> int:
        if self.configured is not None:
            return self.configured
        return max((count for _, count in self._counts), default=0)

    def names(self) -> frozenset[str]:
        """The servers that should respond: those of the last poll and the missing ones."""
        return frozenset(self._last)

    def discovery_due(self, now: float, every: float) -> bool:
        """Whether this poll should wait for new servers, which may be far away."""
        due = not self._last or now - self._last_discovery >= every
        if due:
            self._last_discovery = now
        return due

    def is_down(self, name: str) -> bool:
        return name in self._last and not self._last[name][1].up

    def _note_count(self, now: float, count: int) -> None:
        # Strictly falling: a smaller count before a larger one can never be the maximum.
        while self._counts and self._counts[-1][1] <= count:
            self._counts.pop()
        self._counts.append((now, count))
        while now - self._counts[0][0] > EXPECTED_WINDOW_SECONDS:
            self._counts.popleft()


def _down(server: Server) -> Server:
    return Server(
        name=server.name,
        id=server.id,
        host=server.host,
        up=False,
        version=server.version,
        cluster=server.cluster,
        domain=server.domain,
        jetstream=server.jetstream,
        api_level=server.api_level,
    )


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
        away: frozenset[str],
        without_streams: frozenset[str] = frozenset(),
    ) -> tuple[tuple[Stream, ...], tuple[Consumer, ...]]:
        """`away`: known servers that do not respond. `without_streams`: servers that respond but list
        no streams, as one does before it shuts down; their streams are kept but not reported."""
        held_streams = tuple(self._held_streams(now, streams, away, without_streams))
        held_consumers = tuple(self._held_consumers(now, consumers, away, without_streams))
        self._streams, self._consumers = streams + held_streams, consumers + held_consumers
        held: set[tuple[str, ...]] = {(row.account, row.name) for row in held_streams}
        held.update((row.account, row.stream, row.name) for row in held_consumers)
        self._silent_since = {key: self._silent_since[key] for key in held}
        return (
            streams + tuple(row for row in held_streams if not away.isdisjoint(row.hosts)),
            consumers + tuple(row for row in held_consumers if not away.isdisjoint(row.hosts)),
        )

    def consumer_counts(self) -> Counter[tuple[str, str]]:
        """By account and stream, including those that are kept but not reported."""
        return Counter((row.account, row.stream) for row in self._consumers)

    def _held_streams(
        self,
        now: float,
        present: tuple[Stream, ...],
        away: frozenset[str],
        without_streams: frozenset[str],
    ) -> Iterator[Stream]:
        if not away and not without_streams:
            return
        named = {(row.account, row.name) for row in present}
        for row in self._streams:
            key = (row.account, row.name)
            if key not in named and self._is_held(key, row.hosts, now, away, without_streams):
                yield silent_stream(row.account, row.name, "server_down", row.config, row.hosts)

    def _held_consumers(
        self,
        now: float,
        present: tuple[Consumer, ...],
        away: frozenset[str],
        without_streams: frozenset[str],
    ) -> Iterator[Consumer]:
        if not away and not without_streams:
            return
        named = {(row.account, row.stream, row.name) for row in present}
        for row in self._consumers:
            key, hosts = (row.account, row.stream, row.name), consumer_hosts(row)
            if key not in named and self._is_held(key, hosts, now, away, without_streams):
                yield silent_consumer(*key, "server_down", row.config, hosts)

    def _is_held(
        self,
        key: tuple[str, ...],
        hosts: tuple[str, ...],
        now: float,
        away: frozenset[str],
        without_streams: frozenset[str],
    ) -> bool:
        if away.isdisjoint(hosts) and without_streams.isdisjoint(hosts):
            return False
        # A stream that a running server no longer lists was deleted, unless the server is shutting down.
        longest = _EMPTY_LIST_SECONDS if away.isdisjoint(hosts) else self.forget_after
        return now - self._silent_since.setdefault(key, now) <= longest


def consumer_hosts(row: Consumer) -> tuple[str, ...]:
    return row.hosts or (row.leader, *(replica.server for replica in row.replicas))
