"""Altered heads of requests that repeat a known one: the archive's own parser against that of aiohttp."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from functools import cache
from typing import Final

from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpProcessingError
from aiohttp.http_parser import HttpRequestParser
from support.fuzz.values import altered_bytes
from support.remote_write.framed_requests import framed

from archive.http.known_head import KnownHead
from archive.ingest.protocol import RequestInfo
from archive.remote_write.decoder import Version

_SIZE_NAME: Final = b"Content-Length: "
_LEFT_TO_AIOHTTP: Final = "left to aiohttp"


@cache
def _known(token: str) -> KnownHead:
    whole = framed(b"", f"Authorization: Bearer {token}")
    before, _, behind = whole.partition(_SIZE_NAME + b"0")
    return KnownHead(before + _SIZE_NAME, behind, RequestInfo(Version.V1, "eu", ""), None, {})


def check_heads(count: int, seed: int) -> Counter[str]:
    """A head is known only with the size that aiohttp reads, and with all its other bytes."""
    chance = random.Random(seed)
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        return Counter(_check(chance, loop) for _ in range(count))


def _check(chance: random.Random, loop: asyncio.AbstractEventLoop) -> str:
    known = _known(chance.choice(("a", "b" * 40)))
    body = bytes(chance.choice((0, 1, 9, 10, 999)))
    head = known.before + str(len(body)).encode() + known.behind
    if chance.random() < 0.5:  # near the size
        end = len(known.before) + chance.randrange(-3, 8)
        sent = known.before[:-3] + altered_bytes(head[len(known.before) - 3 : end + 3], chance)
        sent += head[end + 3 :] + body
    else:
        sent = altered_bytes(head, chance) + body
    found = known.size_in(sent)
    if found is None:
        return _LEFT_TO_AIOHTTP
    size, begin = found
    digits = sent[len(known.before) : begin - len(known.behind)]
    assert sent[:begin] == known.before + digits + known.behind
    assert size == _size_by_aiohttp(sent[:begin], loop)
    return "known"


def _size_by_aiohttp(head: bytes, loop: asyncio.AbstractEventLoop) -> int:
    parser = HttpRequestParser(BaseProtocol(loop), loop, 2**16)
    try:
        [(message, _)], _, _ = parser.feed_data(head)
    except HttpProcessingError as error:
        raise AssertionError(f"aiohttp refuses the size: {head!r}") from error
    return int(message.headers["Content-Length"])
