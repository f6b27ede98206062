"""More clock samples per poll: a single response may have been delayed on the network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import Struct, field

from exporter.errors import RequestError
from exporter.signals.clock import ClockState
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.wire_servers import WireServer
from exporter.sources.request_context import RequestContext
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.responder import server_names

# Beside the response that every poll needs anyway.
MORE_SAMPLES = 2
# With less time than this left, take no further samples: the poll itself comes first.
_MIN_SECONDS_LEFT = 2.0
_LONGEST_SECONDS = 0.5


class _PingResponse(Struct, gc=False):
    """Of a ping response only the server and its time."""

    server: WireServer = field(default_factory=WireServer)


@dataclass(frozen=True, slots=True)
class ClockPing:
    """A request to which every server responds with its time."""

    subject: str
    payload: bytes = b""

    async def repeat(
        self,
        connection: NatsConnection,
        servers: frozenset[str],
        clocks: ClockState,
        context: RequestContext,
    ) -> None:
        """Sends the ping again; a server that does not respond has fewer samples."""
        try:
            for seconds in sample_timeouts(context):
                await self._sample(connection, servers, clocks, seconds)
        except RequestError:
            # The first response is there. If the connection is lost, the next request reports it.
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
    """The timeout of each further sample, while the poll has time left."""
    for _ in range(MORE_SAMPLES):
        if context.left() < _MIN_SECONDS_LEFT:
            return
        yield context.left(_LONGEST_SECONDS)
