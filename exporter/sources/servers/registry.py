"""The servers of a system that were seen before, including those that are down now."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.model import Server

EXPECTED_WINDOW_SECONDS = 3600.0


@dataclass(slots=True)
class ServerRegistry:
    """Keeps every server that was seen, as down, until it has not responded for `forget_after` seconds."""

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
