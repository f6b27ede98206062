"""A NATS client that ends its connection at a message larger than a limit, before it receives it."""

from __future__ import annotations

from collections.abc import Callable

from nats.aio.client import Client
from nats.errors import ProtocolError
from nats.protocol.parser import AWAITING_MSG_PAYLOAD, Parser

# A server announces a message, or itself (INFO), in one line; large clusters have many addresses.
_LINE_BYTES = 1024**2


class BoundedParser(Parser):
    """The parser of the library collects a message of any announced size in memory."""

    def __init__(self, client: Client, limit: int, on_oversize: Callable[[str], None]) -> None:
        super().__init__(client)
        self._limit = limit
        self._on_oversize = on_oversize

    async def parse(self, data: bytes = b"") -> None:
        await super().parse(data)
        if self.state == AWAITING_MSG_PAYLOAD:
            waits_for, limit = self.needed, self._limit
        else:
            waits_for, limit = len(self.buf), _LINE_BYTES
        if waits_for > limit:
            self.reset()
            self._on_oversize(f"the server sends {waits_for} bytes at once, the limit is {limit}")
            raise ProtocolError


class BoundedClient(Client):
    def bound(self, limit: int, on_oversize: Callable[[str], None]) -> None:
        """Call it before `connect`. The parser is private: test_hostile_connections.py holds this."""
        self._ps = BoundedParser(self, limit, on_oversize)
