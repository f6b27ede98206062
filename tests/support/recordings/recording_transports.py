"""The transports of the sources, which record every request and its response."""

import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from support.nats.servers import NatsServer
from support.recordings.recording_file import (
    Exchange,
    RecordedError,
    RecordedReply,
    RecordingFile,
    http_request,
    nats_request,
)

from exporter.errors import RequestError
from exporter.sources.monitor import MonitorSource
from exporter.sources.request_context import RequestContext
from exporter.sources.transport.connection import NatsConnection, Reply
from exporter.sources.transport.credentials import NatsAccess
from exporter.sources.transport.gzip_responses import unpacked

# The default ports, recorded instead of the random free ones.
CLIENT, MONITOR, CLUSTER = 4222, 8222, 6222
_STORE: Final = re.compile(re.escape(tempfile.gettempdir()) + r"/nats-[^/\"]+/store")
_MOST_BYTES: Final = 1024**3

T = TypeVar("T")


class RecordingWriter:
    """Writes responses to the file of the scenario, without paths and ports of this machine."""

    def __init__(self, servers: Iterable[NatsServer]) -> None:
        self.file = RecordingFile({})
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
        self, request: str, pending: Awaitable[T], replies: Callable[[T], Sequence[RecordedReply]]
    ) -> T:
        """Sends the request, and keeps the response or the error."""
        sent, request = time.time(), self.clean(request)
        try:
            response = await pending
        except RequestError as error:
            failed = RecordedError(error.reason, self.clean(error.detail))
            self.file.keep(Exchange(request, sent, error=failed))
            raise
        self.file.keep(Exchange(request, sent, tuple(replies(response))))
        return response

    def reply(self, reply: Reply) -> RecordedReply:
        text = self.clean(unpacked(reply, _MOST_BYTES).decode())
        return RecordedReply(text, dict(reply.headers), reply.round_trip)


class RecordingLink(NatsConnection):
    def __init__(self, access: NatsAccess, writer: RecordingWriter) -> None:
        super().__init__(access, "recording")
        self._writer = writer

    async def request(self, subject: str, payload: bytes = b"", *, timeout: float) -> Reply:
        pending = super().request(subject, payload, timeout=timeout)
        request = nats_request(subject, payload)
        return await self._writer.keep(request, pending, lambda reply: [self._writer.reply(reply)])

    async def gather(self, subject: str, payload: bytes = b"", **how: Any) -> list[Reply]:
        pending = super().gather(subject, payload, **how)
        request = nats_request(subject, payload)
        return await self._writer.keep(
            request, pending, lambda got: list(map(self._writer.reply, got))
        )


@dataclass
class RecordingMonitor(MonitorSource):
    writer: RecordingWriter = field(kw_only=True)

    async def _get(
        self,
        address: str,
        path: str,
        query: Mapping[str, str],
        context: RequestContext,
        statuses: frozenset[int] = frozenset({200}),
    ) -> tuple[bytes, int]:
        started = time.perf_counter()

        def as_recorded(response: tuple[bytes, int]) -> list[RecordedReply]:
            body, status = response
            text = self.writer.clean(body.decode())
            return [RecordedReply(text, {}, time.perf_counter() - started, status)]

        pending = super()._get(address, path, query, context, statuses)
        return await self.writer.keep(http_request(address, path, query), pending, as_recorded)
