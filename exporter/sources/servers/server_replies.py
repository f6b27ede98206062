"""Replies of many servers to one request: a malformed one costs only what its server said."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec import Struct

from exporter.errors import MalformedResponseError
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.wire_servers import WireServer
from exporter.sources.transport.connection import Reply
from exporter.sources.transport.responder import server_names

T = TypeVar("T")


class _Header(Struct, gc=False):
    """Of a response only who sent it."""

    server: WireServer


@dataclass(slots=True)
class ServerReplies:
    """Why replies could not be decoded, in one error at the end."""

    what: str
    _details: list[str] = field(default_factory=list)

    def read(
        self, kind: type[T], replies: Iterable[Reply], bare: Callable[[WireServer], T]
    ) -> list[tuple[Reply, T]]:
        """Of a malformed reply `bare`, the response without content; nothing without its server."""
        found = []
        for reply in replies:
            try:
                found.append((reply, read_response(kind, reply.data, self.what)))
            except MalformedResponseError as error:
                [name] = server_names([reply])
                self._details.append(f"{name}: {error.detail}")
                if (server := self._server(reply)) is not None:
                    found.append((reply, bare(server)))
        return found

    def _server(self, reply: Reply) -> WireServer | None:
        try:
            return read_response(_Header, reply.data, self.what).server
        except MalformedResponseError:
            return None

    def check(self) -> None:
        if self._details:
            raise MalformedResponseError("; ".join(self._details))
