"""What a source remembers between polls: servers once seen, and assets that went silent."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.model import Consumer, Server, Stream
from exporter.sources.decode import silent_consumer, silent_stream

EXPECTED_WINDOW_SECONDS = 3600.0


@dataclass(slots=True)
class ServerBook:
    """A server once seen stays, as down, until it has been silent for `forget_after` seconds."""

    forget_after: float
    configured: int | None = None
    _last: dict[str, tuple[float, Server]] = field(default_factory=dict)
    _counts: deque[tuple[float, int]] = field(default_factory=deque)

    def with_silent(self, now: float, answered: Iterable[Server]) -> tuple[Server, ...]:
        present = {server.name: server for server in answered}
        unnamed_hosts = {server.host for server in present.values() if server.name == server.id}
        for name, (seen, server) in list(self._last.items()):
            # A server without a name of its own gets a new one at each restart; the old one is not
            # a server that is down.
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

    def is_down(self, name: str) -> bool:
        return name in self._last and not self._last[name][1].up

    def _note_count(self, now: float, count: int) -> None:
        # Kept as a falling staircase: a smaller count before a larger one can never be the maximum.
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
    """Streams and consumers that no answer names any more while one of their servers is away.

    Without this a killed server would make its assets vanish, as if somebody had deleted them.
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
    ) -> tuple[tuple[Stream, ...], tuple[Consumer, ...]]:
        """`away`: servers once seen that do not answer now."""
        if away:
            streams += self._silent_streams(now, streams, away)
            consumers += self._silent_consumers(now, consumers, away)
        else:
            self._silent_since.clear()
        self._streams, self._consumers = streams, consumers
        return streams, consumers

    def _silent_streams(
        self, now: float, present: tuple[Stream, ...], away: frozenset[str]
    ) -> tuple[Stream, ...]:
        named = {(row.account, row.name) for row in present}
        return tuple(
            silent_stream(row.account, row.name, "server_down", row.config, row.hosts)
            for row in self._streams
            if (key := (row.account, row.name)) not in named
            and not away.isdisjoint(row.hosts)
            and self._still_held(key, now)
        )

    def _silent_consumers(
        self, now: float, present: tuple[Consumer, ...], away: frozenset[str]
    ) -> tuple[Consumer, ...]:
        named = {(row.account, row.stream, row.name) for row in present}
        return tuple(
            silent_consumer(row.account, row.stream, row.name, "server_down", row.config, hosts)
            for row in self._consumers
            if (key := (row.account, row.stream, row.name)) not in named
            and not away.isdisjoint(hosts := consumer_hosts(row))
            and self._still_held(key, now)
        )

    def _still_held(self, key: tuple[str, ...], now: float) -> bool:
        return now - self._silent_since.setdefault(key, now) <= self.forget_after


def consumer_hosts(row: Consumer) -> tuple[str, ...]:
    return row.hosts or (row.leader, *(replica.server for replica in row.replicas))
