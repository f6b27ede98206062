"""Client of the JetStream API: paged lists, info requests, error codes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from exporter.errors import RequestError
from exporter.sources.decoding.decode import read_response, stream_name
from exporter.sources.decoding.row_by_row import UnreadRow, read_list
from exporter.sources.decoding.wire import (
    WireAccountInfo,
    WireApiError,
    WireConsumer,
    WireConsumerInfo,
    WireConsumerList,
    WireStream,
    WireStreamList,
)
from exporter.sources.jetstream_api.list_pages import ListPage, read_pages
from exporter.sources.request_context import RequestContext
from exporter.sources.transport.connection import NatsConnection

# A server collects a list from its peers for up to 4 s before it responds.
LIST_SECONDS = 6.0
INFO_SECONDS = 2.0
NOT_FOUND = 404

_NO_META_LEADER = 10008
_NO_JETSTREAM = frozenset({10039, 10035, 10076})  # for the account; disabled; not enabled

T = TypeVar("T", WireAccountInfo, WireStream, WireConsumerInfo)
L = TypeVar("L", WireStreamList, WireConsumerList)
Row = TypeVar("Row", WireStream, WireConsumer)


class ApiError(RequestError):
    """The server responded with an API error."""

    def __init__(self, subject: str, error: WireApiError) -> None:
        super().__init__(
            _reason(error), f"{subject}: {error.description} ({error.err_code or error.code})"
        )
        self.code = error.code
        self.err_code = error.err_code


def _reason(error: WireApiError) -> str:
    if error.err_code == _NO_META_LEADER:
        return "no_meta_leader"
    return "no_jetstream" if error.err_code in _NO_JETSTREAM else "api_error"


def api_prefix(domain: str | None) -> str:
    """The API prefix of a JetStream domain; None means the domain of the connected server."""
    return f"$JS.{domain}.API" if domain else "$JS.API"


@dataclass(frozen=True, slots=True)
class AccountApi:
    connection: NatsConnection
    prefix: str = "$JS.API"

    async def account_info(self, context: RequestContext) -> WireAccountInfo:
        return await self._request(WireAccountInfo, "INFO", b"", context.left(INFO_SECONDS))

    async def stream_info(self, stream: str, context: RequestContext) -> WireStream:
        subject = f"STREAM.INFO.{stream}"
        return await self._request(WireStream, subject, b"", context.left(INFO_SECONDS))

    async def consumer_info(
        self, stream: str, consumer: str, context: RequestContext
    ) -> WireConsumerInfo:
        subject = f"CONSUMER.INFO.{stream}.{consumer}"
        return await self._request(WireConsumerInfo, subject, b"", context.left(INFO_SECONDS))

    def stream_pages(self, context: RequestContext) -> AsyncIterator[ListPage[WireStream]]:
        async def request(offset: int) -> ListPage[WireStream]:
            page, unread = await self._list(WireStreamList, "STREAM.LIST", offset, context)
            rows = tuple((stream_name(row), row) for row in page.streams or ())
            return _list_page(page, rows, unread)

        return read_pages(request, "STREAM.LIST", context)

    def consumer_pages(
        self, stream: str, context: RequestContext
    ) -> AsyncIterator[ListPage[WireConsumer]]:
        subject = f"CONSUMER.LIST.{stream}"

        async def request(offset: int) -> ListPage[WireConsumer]:
            page, unread = await self._list(WireConsumerList, subject, offset, context)
            rows = tuple((row.name, row) for row in page.consumers or ())
            return _list_page(page, rows, unread)

        return read_pages(request, subject, context)

    async def _list(
        self, kind: type[L], subject: str, offset: int, context: RequestContext
    ) -> tuple[L, list[UnreadRow]]:
        whole = f"{self.prefix}.{subject}"
        # Only the offset: since 2.12 servers reject requests with unknown fields.
        payload = msgspec.json.encode({"offset": offset})
        seconds = context.left(LIST_SECONDS)
        reply = await self.connection.request(whole, payload, timeout=seconds)
        page, unread = read_list(kind, reply.data, whole)
        if page.error is not None:
            raise ApiError(whole, page.error)
        return page, unread

    async def _request(self, kind: type[T], subject: str, payload: bytes, seconds: float) -> T:
        whole = f"{self.prefix}.{subject}"
        reply = await self.connection.request(whole, payload, timeout=seconds)
        response = read_response(kind, reply.data, whole)
        if response.error is not None:
            raise ApiError(whole, response.error)
        return response


def _list_page(
    page: WireStreamList | WireConsumerList,
    rows: tuple[tuple[str, Row], ...],
    unread: list[UnreadRow],
) -> ListPage[Row]:
    return ListPage(
        page.total,
        page.limit,
        rows,
        frozenset(page.missing or ()),
        frozenset(page.offline or ()),
        tuple(unread),
    )
