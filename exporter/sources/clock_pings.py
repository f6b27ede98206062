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
from exporter.sources.transport.connection import NatsLink
from exporter.sources.transport.responder import server_names

# Besides the answer that every poll needs anyway.
MORE_SAMPLES = 2
# What a poll is for comes first: with less time than this left, one sample must do.
_ROOM_SECONDS = 2.0
_LONGEST_SECONDS = 0.5


class _Spoken(Struct, gc=False):
    """Of a ping's answer only who wrote it and when."""

    server: WireServer = field(default_factory=WireServer)


@dataclass(frozen=True, slots=True)
class ClockPing:
    """A request that every server answers with its time."""

    subject: str
    payload: bytes = b""

    async def repeat(
        self, link: NatsLink, servers: frozenset[str], clocks: ClockState, context: RequestContext
    ) -> None:
        """Asks these servers again; who does not answer now simply has fewer samples."""
        try:
            for seconds in more_turns(context):
                await self._sample(link, servers, clocks, seconds)
        except RequestError:
            # The first answer is in. If the connection is gone, the next request will say so.
            return

    async def _sample(
        self, link: NatsLink, servers: frozenset[str], clocks: ClockState, seconds: float
    ) -> None:
        replies = await link.gather(
            self.subject,
            self.payload,
            enough=lambda got: servers <= server_names(got),
            quiet=seconds,
            timeout=seconds,
        )
        for reply in replies:
            said = read_response(_Spoken, reply.data, self.subject).server
            if said.name in servers:
                clocks.observe(said.name, reply.sent, reply.round_trip, said.time)


def more_turns(context: RequestContext) -> Iterator[float]:
    """How long each further sample may take, as long as the poll has time for it."""
    for _ in range(MORE_SAMPLES):
        if context.left() < _ROOM_SECONDS:
            return
        yield context.left(_LONGEST_SECONDS)
