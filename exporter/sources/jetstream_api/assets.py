"""Streams and consumers of one account: by LIST, or by INFO while there is no meta leader."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

from exporter.errors import MalformedResponseError, RequestError
from exporter.model import MALFORMED, Consumer, ConsumerConfig, Stream, StreamConfig
from exporter.sources.decoding.decode import (
    consumer_config,
    consumer_from_wire,
    has_leader,
    replicas,
    silent_consumer,
    silent_stream,
    stream_config,
    stream_from_wire,
)
from exporter.sources.decoding.row_by_row import UnreadRow
from exporter.sources.decoding.shared_configs import SharedConfigs
from exporter.sources.decoding.wire import WireConsumer, WireConsumerConfig, WireStream
from exporter.sources.fan_out import fan_out, run_each
from exporter.sources.filters import Filters
from exporter.sources.jetstream_api.client import NOT_FOUND, AccountApi, ApiError
from exporter.sources.jetstream_api.list_pages import ListPage
from exporter.sources.request_context import RequestContext, SkippedRequests
from exporter.sources.servers.known_rows import is_same

Row = TypeVar("Row", WireStream, WireConsumer)


@dataclass(slots=True)
class _Known:
    """The last configuration of a stream and its consumers, used while LIST fails."""

    config: StreamConfig | None
    consumers: dict[str, ConsumerConfig | None] = field(default_factory=dict)
    # As they were read: comparing costs less than converting them again.
    read: dict[str, WireConsumerConfig] = field(default_factory=dict)
    last_read: WireConsumerConfig | None = None
    rows: dict[str, Consumer] = field(default_factory=dict)  # of the last poll

    def keep(self, rows: dict[str, Consumer]) -> None:
        self.rows = rows
        self.consumers = {name: row.config for name, row in rows.items()}
        if len(self.read) > len(rows):
            self.read = {name: one for name, one in self.read.items() if name in rows}

    def note_read(self, name: str, read: WireConsumerConfig) -> None:
        """Consumers of a stream often have the same configuration: one object for all."""
        if self.last_read is None or read != self.last_read:
            self.last_read = read
        self.read[name] = self.last_read


@dataclass(slots=True)
class AccountAssets:
    api: AccountApi
    filters: Filters
    concurrency: int
    metadata_keys: tuple[str, ...] = ()
    streams: tuple[Stream, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    denied: SkippedRequests = field(
        default_factory=SkippedRequests
    )  # streams whose consumers may not be listed
    _known: dict[str, _Known] = field(default_factory=dict)
    _shared: SharedConfigs = field(default_factory=SharedConfigs)
    _account: str = ""

    async def read(self, account: str, context: RequestContext) -> None:
        """Sets `streams` and `consumers` to the results of this poll."""
        self._account = account
        self.clear()
        if context.is_skipped("stream_list"):
            return
        found: dict[str, Stream] = {}
        error: RequestError | None = None
        started = time.perf_counter()
        with context.request("stream_list"):
            try:
                await self._list_streams(found, context)
            except RequestError as raised:
                error = raised
                raise
        if error is not None and error.reason == "no_meta_leader":
            found = await self._streams_by_name(context)
            self.streams = tuple(found.values())
            self.consumers = await self._consumers_by_name(found, context)
            context.failed("consumer_list", time.perf_counter() - started, error)
            return
        self.streams = tuple(found.values())
        if (error is None or found) and not context.is_skipped("consumer_list"):
            with context.request("consumer_list"):
                await self._list_consumers(found, context)

    def clear(self) -> None:
        """Removes the rows of an earlier poll; the known names stay."""
        self.streams, self.consumers = (), ()

    async def _list_streams(self, found: dict[str, Stream], context: RequestContext) -> None:
        """Adds the streams to `found`, also those of the pages before a failure."""
        unread: dict[str, UnreadRow] = {}
        async for page in self.api.stream_pages(context):
            for name, wire in page.rows:
                # A stream whose servers are down is listed with zeroes and no leader: see `missing`.
                if name and self.filters.streams.wants(name):
                    found[name] = self._stream(name, wire)
            for name, reason in _not_read(page):
                if self.filters.streams.wants(name):
                    found[name] = self._silent_stream(name, reason)
            unread.update((row.name or row.detail, row) for row in page.unread)
        _raise_unread("STREAM.LIST", unread)
        self._known = {name: kept for name, kept in self._known.items() if name in found}

    def _stream(self, name: str, wire: WireStream) -> Stream:
        config = stream_config(name, wire.config, self.metadata_keys) if wire.config else None
        known = self._known.setdefault(name, _Known(config))
        known.config = config or known.config
        if not has_leader(wire.cluster):
            hosts = tuple(replica.server for replica in replicas(wire.cluster))
            return silent_stream(self._account, name, "no_leader", known.config, hosts)
        leader = wire.cluster.leader if wire.cluster else ""
        return stream_from_wire(self._account, wire, known.config, leader or self._only_server())

    def _only_server(self) -> str:
        """A stand-alone server before 2.10 does not report itself as the leader."""
        return str(self.api.connection.server_info.get("server_name", ""))

    def _silent_stream(self, name: str, reason: str) -> Stream:
        known = self._known.setdefault(name, _Known(None))
        return silent_stream(self._account, name, reason, known.config)

    async def _list_consumers(self, streams: dict[str, Stream], context: RequestContext) -> None:
        # In the order of the streams, not of the responses: later steps then search less.
        rows: dict[str, list[Consumer]] = {name: [] for name in streams}
        waiting = [stream for stream in streams.values() if stream.up and stream.consumers > 0]
        for stream in streams.values():
            if not stream.up:
                rows[stream.name] = self._silent_consumers(stream.name, "stream_" + stream.reason)

        async def one(stream: Stream) -> None:
            if self.denied.is_skipped(stream.name, time.monotonic()):
                raise RequestError("partial", f"consumers of {stream.name}: denied, retried later")
            found: dict[str, Consumer] = {}
            try:
                await self._consumers_of(stream, found, context)
            except RequestError as error:
                self.denied.note(stream.name, error.reason, time.monotonic())
                raise
            finally:
                rows[stream.name] = list(found.values())

        try:
            await fan_out(waiting, one, self.concurrency, context, "streams")
        finally:
            self.consumers = tuple(chain.from_iterable(rows.values()))

    def _silent_consumers(self, stream: str, reason: str) -> list[Consumer]:
        known = self._known.get(stream)
        names = known.consumers.items() if known else ()
        return [silent_consumer(self._account, stream, name, reason, c) for name, c in names]

    async def _consumers_of(
        self, stream: Stream, rows: dict[str, Consumer], context: RequestContext
    ) -> None:
        """Adds the consumers to `rows`, also those of the pages before a failure."""
        known = self._known[stream.name]
        unread: dict[str, UnreadRow] = {}
        try:
            async for page in self.api.consumer_pages(stream.name, context):
                self._add_page(stream, page, known, rows)
                unread.update((row.name or row.detail, row) for row in page.unread)
        except RequestError as error:
            if isinstance(error, ApiError) and error.code == NOT_FOUND:
                rows.clear()  # the stream was deleted between two requests
                return
            known.consumers |= {name: row.config for name, row in rows.items()}
            raise
        known.keep(rows)
        _raise_unread(f"CONSUMER.LIST.{stream.name}", unread)

    def _add_page(
        self,
        stream: Stream,
        page: ListPage[WireConsumer],
        known: _Known,
        rows: dict[str, Consumer],
    ) -> None:
        for name, wire in page.rows:
            if name and self.filters.consumers.wants(name):
                row = self._consumer(stream, wire, known)
                if row is not None:
                    rows[name] = row
        for name, reason in _not_read(page):
            if self.filters.consumers.wants(name):
                config = known.consumers.get(name)
                rows[name] = silent_consumer(self._account, stream.name, name, reason, config)

    def _consumer(self, stream: Stream, wire: WireConsumer, known: _Known) -> Consumer | None:
        config = self._config(wire, known)
        if config is not None and config.internal:
            return None
        if not has_leader(wire.cluster):
            return silent_consumer(self._account, stream.name, wire.name, "no_leader", config)
        leader = wire.cluster.leader if wire.cluster else stream.leader
        before = known.rows.get(wire.name)
        if (
            before is not None
            and before.up
            and before.account == self._account
            and before.config is config
            and before.leader == leader
            and before.created == wire.created
            and is_same(before, wire, stream.first_seq)
        ):
            return before
        return consumer_from_wire(
            self._account, stream.name, wire, config, leader, stream.first_seq
        )

    def _config(self, wire: WireConsumer, known: _Known) -> ConsumerConfig | None:
        """The same object while nothing changes: callers compare by identity."""
        config, read = known.consumers.get(wire.name), wire.config
        if read is None:
            return config
        # Only whether it has one counts; names would make all of them differ.
        read.durable_name = "durable" if read.durable_name else ""
        if config is not None and read == known.read.get(wire.name):
            return config
        known.note_read(wire.name, read)
        made = consumer_config(read, self.metadata_keys)
        return config if made == config else self._shared.of(made)

    async def _streams_by_name(self, context: RequestContext) -> dict[str, Stream]:
        """Without a meta leader LIST fails, but each stream leader still responds to INFO."""
        found: dict[str, Stream] = {}

        async def one(name: str) -> None:
            try:
                found[name] = self._stream(name, await self.api.stream_info(name, context))
            except RequestError as error:
                if not _is_inconclusive(error):
                    found[name] = self._silent_stream(name, error.reason)

        await run_each(list(self._known), one, self.concurrency)
        return found

    async def _consumers_by_name(
        self, streams: dict[str, Stream], context: RequestContext
    ) -> tuple[Consumer, ...]:
        rows: list[Consumer] = []
        wanted: list[tuple[Stream, str]] = []
        for stream in streams.values():
            if stream.up:
                wanted += [(stream, name) for name in self._known[stream.name].consumers]
            else:
                rows += self._silent_consumers(stream.name, "stream_" + stream.reason)

        async def one(pair: tuple[Stream, str]) -> None:
            stream, name = pair
            known = self._known[stream.name]
            try:
                wire = await self.api.consumer_info(stream.name, name, context)
                row = self._consumer(stream, wire, known)
            except RequestError as error:
                if _is_inconclusive(error):
                    return
                config = known.consumers.get(name)
                row = silent_consumer(self._account, stream.name, name, error.reason, config)
            if row is not None:
                rows.append(row)

        await run_each(wanted, one, self.concurrency)
        return tuple(rows)


def _not_read(page: ListPage[Row]) -> Iterator[tuple[str, str]]:
    """The names on the page without a usable row, and why."""
    for name in page.missing | page.offline:
        yield name, "offline" if name in page.offline else "missing"
    for row in page.unread:
        if row.name:
            yield row.name, MALFORMED


def _raise_unread(what: str, unread: dict[str, UnreadRow]) -> None:
    if unread:
        first = next(iter(unread.values()))
        named = f"{first.name or 'a row without a name'}: {first.detail}"
        raise MalformedResponseError(f"{what}: malformed rows: {len(unread)}; first: {named}")


def _is_inconclusive(error: RequestError) -> bool:
    """Deleted, or not permitted: neither means that it has no leader."""
    gone = isinstance(error, ApiError) and error.code == NOT_FOUND
    return gone or error.reason == "permission"
