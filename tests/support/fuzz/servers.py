"""Altered statistics of servers and accounts, as servers 2.9 to 2.15 send them."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final

from support.fuzz.values import altered_value
from support.recordings.recording_file import RecordingFile
from support.recordings.replay import recordings

from exporter.errors import MalformedResponseError
from exporter.model import Account, Server
from exporter.signals.clock import ClockState
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.row_by_row import PartlyReadJsz, read_jsz, read_jsz_response
from exporter.sources.decoding.server_decode import (
    ServerResponses,
    decode_accounts,
    decode_meta,
    decode_servers,
)
from exporter.sources.decoding.wire_servers import (
    WireAccountStats,
    WireAccountStatzResponse,
    WireJsz,
    WireJszResponse,
    WireServer,
    WireStatszResponse,
    WireVarz,
    WireVarzResponse,
)

Body = dict[str, Any]
_MOST: Final = 2**63
_NAME: Final = "n1"
# By what the address contains.
_KINDS: Final[dict[str, type]] = {
    ".STATSZ": WireStatszResponse,
    "/varz": WireVarz,
    ".VARZ": WireVarzResponse,
    "/jsz": WireJsz,
    ".JSZ": WireJszResponse,
    "PING.STATZ": WireAccountStatzResponse,
    "/accstatz": WireAccountStats,
}
_READERS: Final[Mapping[type, Callable[[bytes, str], Any]]] = {
    WireJsz: read_jsz,
    WireJszResponse: read_jsz_response,
}


@cache
def recorded_statistics() -> tuple[tuple[type, Body], ...]:
    found = []
    for recording in recordings():
        for request, exchange in RecordingFile.load(recording.path).exchanges.items():
            kind = next((kind for part, kind in _KINDS.items() if part in request), None)
            if kind is not None:
                found += [(kind, json.loads(reply.text)) for reply in exchange.replies]
    return tuple(found)


def check_statistics(chance: random.Random) -> str:
    """One altered response; returns what happened to it."""
    kind, body = chance.choice(recorded_statistics())
    altered = altered_value(body, chance)
    try:
        read = _READERS.get(kind, partial(read_response, kind))(
            json.dumps(altered).encode(), "statistics"
        )
    except MalformedResponseError:
        return "malformed"
    response = ServerResponses(WireServer(name=_NAME, ver="2.12.8"))
    page: Any = read if kind in (WireVarz, WireJsz, WireAccountStats) else None
    if isinstance(read, WireStatszResponse):
        response.stats = read.statsz
        _compare(_inner(altered, "statsz"), response)
    else:
        page = page or read.data
        _take(page, response)
    _check_model(response)
    if isinstance(page, PartlyReadJsz):
        assert page.unread_details(), "what was not read is not counted"
        return "partly read"
    return "read"


def _take(page: Any, response: ServerResponses) -> None:
    if isinstance(page, WireVarz):
        response.stats = page
    elif isinstance(page, WireJsz):
        response.jsz = [page]
    elif isinstance(page, WireAccountStats):
        response.account_stats = page.account_statz


def _inner(value: Any, *keys: str) -> Body:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _compare(sent: Body, response: ServerResponses) -> None:
    """What was decoded is what was sent."""
    if response.stats is None:
        assert not sent
        return
    for name in ("mem", "cores", "connections", "total_connections", "slow_consumers"):
        assert getattr(response.stats, name) == sent.get(name, 0)


def _check_model(response: ServerResponses) -> None:
    [server] = decode_servers([response], (), (), ClockState(), 0.0)
    accounts = decode_accounts([response], (), (), {})
    decode_meta([response])
    assert response.settled_before is None or response.settled_before.tzinfo is not None
    for number in _numbers(server, accounts):
        assert number is None or (math.isfinite(number) and 0 <= number < _MOST), number


def _numbers(server: Server, accounts: tuple[Account, ...]) -> list[float | None]:
    used = [each for account in accounts for each in account.usage]
    return [
        server.process_memory_bytes,
        server.storage_used,
        server.storage_reserved,
        server.storage_max,
        server.memory_used,
        server.memory_reserved,
        server.memory_max,
        server.api_requests,
        server.leaf_nodes,
        *(each.storage_used for each in used),
        *(each.storage_limit for each in used),
        *(each.memory_used for each in used),
        *(account.api_requests for account in accounts),
    ]


def check_servers(count: int, seed: int) -> Counter[str]:
    chance = random.Random(seed)
    return Counter(check_statistics(chance) for _ in range(count))
