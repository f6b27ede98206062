"""Decodes a response row by row when it fails as a whole: a malformed row costs only itself."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw, field

from exporter.errors import MalformedResponseError
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.wire import (
    Time,
    WireApiStats,
    WireConsumer,
    WireConsumerList,
    WireStream,
    WireStreamList,
)
from exporter.sources.decoding.wire_servers import (
    WireAccountDetail,
    WireJsConfig,
    WireJsLimits,
    WireJsz,
    WireJszResponse,
    WireMeta,
)


class UnreadRow(msgspec.Struct, frozen=True, gc=False):
    """A row that cannot be decoded; its name is "" if that cannot be decoded either."""

    name: str
    detail: str


class PartlyReadStream(WireStream, gc=False):
    """A stream of JSZ that cannot be decoded, or that has such consumers."""

    detail: str = ""  # why the stream itself cannot be decoded; "" if it can
    unread: list[UnreadRow] = field(default_factory=list)  # its consumers


class PartlyReadJsz(WireJsz, gc=False):
    """A page of JSZ that was decoded row by row."""

    detail: str = ""  # why the page itself cannot be decoded; "" if it can
    unread: list[str] = field(default_factory=list)  # what else of it cannot be, with the reason

    def unread_details(self) -> list[str]:
        found = [self.detail] if self.detail else list(self.unread)
        for account in self.account_details or ():
            for stream in account.stream_detail or ():
                if not isinstance(stream, PartlyReadStream):
                    continue
                if stream.detail:
                    found.append(f"stream {account.name}/{stream.name}: {stream.detail}")
                else:
                    at = f"consumer {account.name}/{stream.name}"
                    found += [f"{at}/{row.name}: {row.detail}" for row in stream.unread]
        return found


_ABSENT: Final = Raw(b"null")
_EMPTY: Final = Raw(b"{}")


class _RawStreamList(WireStreamList, gc=False):
    streams: list[Raw] | None = None  # type: ignore[assignment]


class _RawConsumerList(WireConsumerList, gc=False):
    consumers: list[Raw] | None = None  # type: ignore[assignment]


class _RawStream(PartlyReadStream, gc=False):
    consumer_detail: list[Raw] | None = None  # type: ignore[assignment]


class _RawAccount(WireAccountDetail, gc=False):
    api: Raw = _EMPTY  # type: ignore[assignment]
    stream_detail: list[Raw] | None = None  # type: ignore[assignment]


class _RawJsz(PartlyReadJsz, gc=False):
    now: Raw = _ABSENT  # type: ignore[assignment]
    api: Raw = _ABSENT  # type: ignore[assignment]
    config: Raw = _ABSENT  # type: ignore[assignment]
    limits: Raw = _ABSENT  # type: ignore[assignment]
    meta_cluster: Raw = _ABSENT  # type: ignore[assignment]
    account_details: list[_RawAccount] | None = None  # type: ignore[assignment]


class _RawJszResponse(WireJszResponse, gc=False):
    data: _RawJsz | None = None


_ROW = "row"
_PARTS: Final[tuple[tuple[str, Any], ...]] = (
    ("now", Time | None),
    ("api", WireApiStats | None),
    ("config", WireJsConfig | None),
    ("limits", WireJsLimits | None),
    ("meta_cluster", WireMeta | None),
)
Row = TypeVar("Row", WireStream, WireConsumer)
List = TypeVar("List", WireStreamList, WireConsumerList)


def read_list(kind: type[List], data: bytes, what: str) -> tuple[List, list[UnreadRow]]:
    """A page of STREAM.LIST or CONSUMER.LIST, and its rows that cannot be decoded."""
    try:
        return read_response(kind, data, what), []
    except MalformedResponseError:
        if kind is WireStreamList:
            streams = read_response(_RawStreamList, data, what)
            streams.streams, unread = _rows(WireStream, streams.streams)
            return streams, unread  # type: ignore[return-value]
        consumers = read_response(_RawConsumerList, data, what)
        consumers.consumers, unread = _rows(WireConsumer, consumers.consumers)
        return consumers, unread  # type: ignore[return-value]


def read_jsz(data: bytes | bytearray | memoryview, what: str) -> WireJsz:
    """A page of JSZ over HTTP; a PartlyReadJsz if it has rows that cannot be decoded."""
    try:
        return read_response(WireJsz, data, what)
    except MalformedResponseError:
        return _read_accounts(read_response(_RawJsz, data, what))


def read_jsz_response(data: bytes | bytearray | memoryview, what: str) -> WireJszResponse:
    """The same over NATS."""
    try:
        return read_response(WireJszResponse, data, what)
    except MalformedResponseError:
        response = read_response(_RawJszResponse, data, what)
        if response.data is not None:
            _read_accounts(response.data)
        return response


def _read_accounts(page: _RawJsz) -> PartlyReadJsz:
    """Decodes the parts of a page one by one; each may be malformed alone."""
    for name, kind in _PARTS:
        setattr(page, name, _part(kind, getattr(page, name), name, page.unread))
    for account in page.account_details or ():
        account.api = _part(WireApiStats, account.api, f"account {account.name}", page.unread)
        account.stream_detail = [_stream(raw) for raw in account.stream_detail or ()]  # type: ignore[misc]
    return page


def _part(kind: Any, raw: Raw, name: str, unread: list[str]) -> Any:
    """None if it is malformed."""
    try:
        return read_response(kind, memoryview(raw), _ROW)
    except MalformedResponseError as error:
        unread.append(f"{name}: {_detail(error)}")
        return None


def _stream(raw: Raw) -> WireStream:
    try:
        return read_response(WireStream, memoryview(raw), _ROW)
    except MalformedResponseError as error:
        detail = _detail(error)
    try:
        stream = read_response(_RawStream, memoryview(raw), _ROW)
    except MalformedResponseError:
        row = _plain(raw)
        inner = row.get("consumer_detail")
        consumers = inner if isinstance(inner, list) else []
        names = [_name(one) for one in consumers if isinstance(one, dict)]
        return PartlyReadStream(
            name=_name(row),
            detail=detail,
            unread=[UnreadRow(name, "its stream is malformed") for name in names],
        )
    stream.consumer_detail, stream.unread = _rows(WireConsumer, stream.consumer_detail)
    return stream


def _rows(kind: type[Row], raws: list[Raw] | None) -> tuple[list[Any], list[UnreadRow]]:
    rows: list[Row] = []
    unread: list[UnreadRow] = []
    for raw in raws or ():
        try:
            rows.append(read_response(kind, memoryview(raw), _ROW))
        except MalformedResponseError as error:
            unread.append(UnreadRow(_name(_plain(raw)), _detail(error)))
    return rows, unread


def _detail(error: MalformedResponseError) -> str:
    return error.detail.removeprefix(f"{_ROW}: ")


def _plain(raw: Raw) -> dict[str, Any]:
    try:
        row = msgspec.json.decode(memoryview(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _name(row: dict[str, Any]) -> str:
    """A stream of STREAM.LIST has its name only in its configuration."""
    config = row.get("config")
    written = row.get("name") or (config.get("name") if isinstance(config, dict) else "")
    return written if isinstance(written, str) else ""
