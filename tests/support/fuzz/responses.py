"""Lists of streams and consumers with an altered row, as servers 2.9 to 2.15 send them."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import cache
from typing import Any, Final

from support.fuzz.values import altered_bytes, altered_value
from support.recordings.recording_file import RecordingFile
from support.recordings.replay import recordings

from exporter.errors import MalformedResponseError
from exporter.sources.decoding.decode import (
    consumer_config,
    consumer_from_wire,
    stream_config,
    stream_from_wire,
    stream_name,
)
from exporter.sources.decoding.row_by_row import PartlyReadStream, read_jsz_response, read_list
from exporter.sources.decoding.wire import (
    WireConsumer,
    WireConsumerList,
    WireStream,
    WireStreamList,
)

Row = dict[str, Any]
_ROWS: Final = 3  # of a list
_COUNTS: Final = ("num_pending", "num_ack_pending", "num_redelivered", "num_waiting")
_STATE: Final = ("messages", "bytes", "first_seq", "last_seq", "num_deleted", "consumer_count")


@cache
def recorded_rows() -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Streams and consumers of all recordings."""
    streams: list[Row] = []
    consumers: list[Row] = []
    for recording in recordings():
        for exchange in RecordingFile.load(recording.path).exchanges.values():
            for reply in exchange.replies:
                _collect(reply.text, streams, consumers)
    return tuple(streams), tuple(consumers)


def _collect(text: str, streams: list[Row], consumers: list[Row]) -> None:
    try:
        body = json.loads(text)
    except ValueError:
        return
    page = body.get("data", body) if isinstance(body, dict) else {}
    if not isinstance(page, dict):
        return
    streams += page["streams"] if isinstance(page.get("streams"), list) else []
    consumers += page["consumers"] if isinstance(page.get("consumers"), list) else []
    for account in page.get("account_details") or ():
        for stream in account.get("stream_detail") or ():
            consumers += stream.pop("consumer_detail", None) or []
            streams.append(stream)


def check_response(chance: random.Random) -> str:
    """One altered response; returns what happened to it."""
    return chance.choice((_check_list, _check_jsz, _check_bytes))(chance)


def _check_list(chance: random.Random) -> str:
    streams, consumers = recorded_rows()
    kind = chance.choice(("streams", "consumers"))
    rows = chance.choices(streams if kind == "streams" else consumers, k=_ROWS)
    at = chance.randrange(_ROWS)
    altered = altered_value(rows[at], chance)
    sent = _encoded({kind: [*rows[:at], altered, *rows[at + 1 :]], "total": _ROWS})
    if kind == "streams":
        page, unread = read_list(WireStreamList, sent, "a list")
        found: list[Any] = page.streams or []
    else:
        listed, unread = read_list(WireConsumerList, sent, "a list")
        found = listed.consumers or []
    assert len(found) + len(unread) == _ROWS, "a row is neither read nor counted"
    assert len(unread) <= 1, "the altered row costs others"
    others = [*rows[:at], *rows[at + 1 :]]
    for row, wire in zip(others, _without(found, at, bool(unread)), strict=True):
        _compare(row, wire)
    if not unread:
        _compare(altered, found[at])
    return "unread" if unread else "read"


def _without(found: list[Any], at: int, is_unread: bool) -> list[Any]:
    return found if is_unread else [*found[:at], *found[at + 1 :]]


def _check_jsz(chance: random.Random) -> str:
    streams, consumers = recorded_rows()
    inner = chance.choices(consumers, k=_ROWS)
    at = chance.randrange(_ROWS)
    stream = chance.choice(streams)
    listed = stream | {"consumer_detail": [*inner[:at], altered_value(inner[at], chance), *inner[at + 1 :]]}  # fmt: skip
    other = chance.choice(streams) | {"consumer_detail": chance.choices(consumers, k=1)}
    sent = _encoded({
        "server": {"name": "n1"},
        "data": {"account_details": [{"name": "APP", "stream_detail": [listed, other]}]},
    })  # fmt: skip
    response = read_jsz_response(sent, "JSZ")
    assert response.data is not None
    [account] = response.data.account_details or []
    first, second = account.stream_detail or []
    _compare(other, second)
    unread = first.unread if isinstance(first, PartlyReadStream) else []
    assert len(first.consumer_detail or ()) + len(unread) == _ROWS
    assert len(unread) <= 1
    return "unread" if unread else "read"


def _check_bytes(chance: random.Random) -> str:
    streams, _ = recorded_rows()
    sent = altered_bytes(_encoded({"streams": chance.choices(streams, k=1)}), chance)
    try:
        page, _unread = read_list(WireStreamList, sent, "a list")
    except MalformedResponseError:
        return "malformed"
    for wire in page.streams or ():
        _converted(wire)
    return "read"


def _compare(row: Row, wire: WireStream | WireConsumer) -> None:
    """What was decoded is what was sent, and it can be converted."""
    converted = _converted(wire)
    if isinstance(wire, WireStream):
        state = row.get("state", {})
        assert {name: getattr(wire.state, name) for name in _STATE} == _sent(state, _STATE)
    else:
        assert {name: getattr(wire, name) for name in _COUNTS} == _sent(row, _COUNTS)
        assert converted.num_pending == row.get("num_pending", 0)


def _sent(values: Row, names: tuple[str, ...]) -> dict[str, int]:
    return {name: values.get(name, 0) for name in names}


def _converted(wire: WireStream | WireConsumer) -> Any:
    if isinstance(wire, WireStream):
        name = stream_name(wire)
        config = stream_config(name, wire.config) if wire.config else None
        return stream_from_wire("APP", wire, config, "n1")
    config_of = consumer_config(wire.config) if wire.config else None
    return consumer_from_wire("APP", "ORDERS", wire, config_of, "n1", 1)


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def check_responses(count: int, seed: int) -> Counter[str]:
    chance = random.Random(seed)
    return Counter(check_response(chance) for _ in range(count))
