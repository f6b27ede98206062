"""More samples of the servers' clocks in one poll: a single answer may have been held up on its way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import Struct, field

from exporter.errors import RequestError
from exporter.signals.clock import ClockState
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.wire import WireServer
from exporter.sources.request_context import RequestContext
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.responder import server_names

# Besides the answer that every poll needs anyway.
MORE_SAMPLES = 2
# What a poll is for comes first: with less time than this left, one sample must do.
_MIN_SECONDS_LEFT = 2.0
_LONGEST_SECONDS = 0.5


class _PingResponse(Struct, gc=False):
    """Of a ping's answer only who wrote it and when."""

    server: WireServer = field(default_factory=WireServer)


@dataclass(frozen=True, slots=True)
class ClockPing:
    """A request that every server answers with its time."""

    subject: str
    payload: bytes = b""

    async def repeat(
        self,
        connection: NatsConnection,
        servers: frozenset[str],
        clocks: ClockState,
        context: RequestContext,
    ) -> None:
        """Asks these servers again; who does not answer now simply has fewer samples."""
        try:
            for seconds in sample_timeouts(context):
                await self._sample(connection, servers, clocks, seconds)
        except RequestError:
            # The first answer is in. If the connection is gone, the next request will say so.
            return

    async def _sample(
        self,
        connection: NatsConnection,
        servers: frozenset[str],
        clocks: ClockState,
        seconds: float,
    ) -> None:
        replies = await connection.gather(
            self.subject,
            self.payload,
            enough=lambda got: servers <= server_names(got),
            quiet=seconds,
            timeout=seconds,
        )
        for reply in replies:
            server = read_response(_PingResponse, reply.data, self.subject).server
            if server.name in servers:
                clocks.observe(server.name, reply.sent, reply.round_trip, server.time)


def sample_timeouts(context: RequestContext) -> Iterator[float]:
    """How long each further sample may take, as long as the poll has time for it."""
    for _ in range(MORE_SAMPLES):
        if context.left() < _MIN_SECONDS_LEFT:
            return
        yield context.left(_LONGEST_SECONDS)
