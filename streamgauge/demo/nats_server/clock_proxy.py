"""A proxy that shifts the timestamps in the responses of a NATS server, as if its clock were wrong."""

import gzip
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from streamgauge.demo.nats_server.message_proxy import ServerMessage, changed_messages

_GZIP: Final = b"\x1f\x8b"
# Fraction and zone are unchanged, so a shifted timestamp has the same length.
_MOMENT: Final = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?=[.Z+-])")
_NEVER: Final = b"0001-01-01T00:00:00"


@dataclass
class WrongClock:
    """May be changed at any time."""

    ahead: int = 0  # seconds; below 0 it is behind
    server: str = ""  # whose clock is wrong; empty: every response is shifted
    since: datetime | None = None  # earlier timestamps are unchanged; None: all are shifted


def moved_moments(text: bytes, seconds: int, since: datetime | None = None) -> bytes:
    """Shifts every RFC 3339 timestamp (UTC) of the text since `since`, except the zero time."""

    def moved(found: re.Match[bytes]) -> bytes:
        moment = datetime.fromisoformat(found[0].decode())
        if found[0] == _NEVER or (since is not None and moment.replace(tzinfo=UTC) < since):
            return found[0]
        return (moment + timedelta(seconds=seconds)).isoformat().encode()

    return _MOMENT.sub(moved, text)


def moved_body(body: bytes, clock: WrongClock) -> bytes:
    """Shifts a response, compressed or plain, if it comes from the server with the wrong clock."""
    if not clock.ahead:
        return body
    if body.startswith(_GZIP):
        return gzip.compress(_of_that_server(gzip.decompress(body), clock))
    return _of_that_server(body, clock)


def _of_that_server(text: bytes, clock: WrongClock) -> bytes:
    # Every response of a server begins with its name.
    if clock.server and b'"server":{"name":"%s"' % clock.server.encode() not in text:
        return text
    return moved_moments(text, clock.ahead, clock.since)


@asynccontextmanager
async def nats_with_clock(port: int, clock: WrongClock) -> AsyncIterator[str]:
    """The URL of the NATS server at `port`, as if it had this clock."""

    async def shifted(message: ServerMessage) -> AsyncIterator[bytes]:
        headers = message.headers
        if clock.ahead and not clock.server:
            headers = moved_moments(headers, clock.ahead)
        yield replace(message, headers=headers, body=moved_body(message.body, clock)).encoded()

    async with changed_messages(port, shifted) as url:
        yield url
