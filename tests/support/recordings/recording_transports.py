"""The transports of our sources, with every request and its answer kept on a tape."""

import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from support.nats.servers import NatsServer
from support.recordings.recording_file import (
    Exchange,
    Tape,
    TapedError,
    TapedReply,
    http_request,
    nats_request,
)

from exporter.errors import RequestError
from exporter.sources.monitor import MonitorSource
from exporter.sources.request_context import RequestContext
from exporter.sources.transport.connection import NatsConnection, Reply
from exporter.sources.transport.credentials import NatsAccess
from exporter.sources.transport.gzip_responses import unpacked

# The ports that a reader expects; the real ones were free by chance.
CLIENT, MONITOR, CLUSTER = 4222, 8222, 6222
_STORE: Final = re.compile(re.escape(tempfile.gettempdir()) + r"/nats-[^/\"]+/store")
_MOST_BYTES: Final = 1024**3

T = TypeVar("T")


class Deck:
    """Where answers are written to: the tape of the scene, cleaned of this machine's traces."""

    def __init__(self, servers: Iterable[NatsServer]) -> None:
        self.tape = Tape({})
        self._names: dict[str, str] = {}
        for number, server in enumerate(servers):
            ports = server.ports
            shown = {ports.client: CLIENT, ports.monitor: MONITOR, ports.cluster: CLUSTER}
            for own, usual in shown.items():
                self._names[f"127.0.0.1:{own}"] = f"127.0.0.1:{usual + number}"

    def clean(self, text: str) -> str:
        for ours, shown in self._names.items():
            text = text.replace(ours, shown)
        text = _STORE.sub("/data", text)
        if tempfile.gettempdir() in text:
            raise RuntimeError(f"a path of this machine would be recorded: {text[:500]}")
        return text

    async def keep(
        self, request: str, pending: Awaitable[T], replies: Callable[[T], Sequence[TapedReply]]
    ) -> T:
        """Asks, and keeps the answer or the failure."""
        sent, request = time.time(), self.clean(request)
        try:
            response = await pending
        except RequestError as error:
            failed = TapedError(error.reason, self.clean(error.detail))
            self.tape.keep(Exchange(request, sent, error=failed))
            raise
        self.tape.keep(Exchange(request, sent, tuple(replies(response))))
        return response

    def reply(self, reply: Reply) -> TapedReply:
        text = self.clean(unpacked(reply, _MOST_BYTES).decode())
        return TapedReply(text, dict(reply.headers), reply.round_trip)


class RecordingLink(NatsConnection):
    def __init__(self, access: NatsAccess, deck: Deck) -> None:
        super().__init__(access, "recording")
        self._deck = deck

    async def request(self, subject: str, payload: bytes = b"", *, timeout: float) -> Reply:
        asked = super().request(subject, payload, timeout=timeout)
        request = nats_request(subject, payload)
        return await self._deck.keep(request, asked, lambda reply: [self._deck.reply(reply)])

    async def gather(self, subject: str, payload: bytes = b"", **how: Any) -> list[Reply]:
        asked = super().gather(subject, payload, **how)
        request = nats_request(subject, payload)
        return await self._deck.keep(request, asked, lambda got: list(map(self._deck.reply, got)))


@dataclass
class RecordingMonitor(MonitorSource):
    deck: Deck = field(kw_only=True)

    async def _get(
        self,
        address: str,
        path: str,
        query: Mapping[str, str],
        context: RequestContext,
        statuses: frozenset[int] = frozenset({200}),
    ) -> tuple[bytes, int]:
        started = time.perf_counter()

        def taped(response: tuple[bytes, int]) -> list[TapedReply]:
            body, status = response
            text = self.deck.clean(body.decode())
            return [TapedReply(text, {}, time.perf_counter() - started, status)]

        asked = super()._get(address, path, query, context, statuses)
        return await self.deck.keep(http_request(address, path, query), asked, taped)
