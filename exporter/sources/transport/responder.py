"""Identifies the server of a reply from its first bytes, without decoding all of it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from exporter.sources.transport.connection import Reply
from exporter.sources.transport.gzip_responses import first_bytes

_ID = re.compile(rb'"id"\s*:\s*"([^"]+)"')
_NAME = re.compile(rb'"name"\s*:\s*"([^"]+)"')


def server_id(reply: Reply) -> str:
    return _first(_ID, reply)


def server_ids(replies: Iterable[Reply]) -> set[str]:
    return {server_id(reply) for reply in replies}


def server_names(replies: Iterable[Reply]) -> set[str]:
    return {_first(_NAME, reply) for reply in replies}


def _first(pattern: re.Pattern[bytes], reply: Reply) -> str:
    found = pattern.search(first_bytes(reply))
    return found[1].decode(errors="replace") if found else ""
