"""The system source: requests to all servers over the system account, for all accounts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.errors import MalformedResponseError, RequestError
from exporter.model import Snapshot
from exporter.sources.clock_pings import ClockPing
from exporter.sources.decoding.row_by_row import PartlyReadJsz, read_jsz_response
from exporter.sources.decoding.server_decode import ServerResponses
from exporter.sources.decoding.wire_servers import (
    WireAccountStatzResponse,
    WireHealthResponse,
    WireJsz,
    WireServer,
    WireStatszResponse,
)
from exporter.sources.request_context import RequestContext, SkippedRequests, smaller_page
from exporter.sources.servers.account_stats import REQUEST as ACCOUNT_REQUEST
from exporter.sources.servers.account_stats import AccountStatsCache
from exporter.sources.servers.config_refresh import ConfigRefresh
from exporter.sources.servers.interval_request import with_request_outcomes
from exporter.sources.servers.jsz_pages import JszRequest, read_all_accounts
from exporter.sources.servers.server_replies import ServerReplies
from exporter.sources.servers.server_settings import REQUEST as SETTINGS_REQUEST
from exporter.sources.servers.server_settings import ServerSettingsCache
from exporter.sources.servers.snapshot import (
    CONFIG_SHARE_OF_TIME,
    RETRY_LATER,
    ServersState,
    SourceOptions,
)
from exporter.sources.subsz.publish_counts import PublishResult
from exporter.sources.subsz.transport import SubszOverNats
from exporter.sources.transport.connection import NatsConnection, Reply
from exporter.sources.transport.gzip_responses import unpacked
from exporter.sources.transport.responder import server_id, server_ids, server_names

ACCOUNT_STATZ = "$SYS.REQ.ACCOUNT.PING.STATZ"
# Without it a server without connections does not respond.
_EVERY_SERVER = b'{"include_unused":true}'
PING = "$SYS.REQ.SERVER.PING"
# Servers respond to a ping within milliseconds of each other; a later one counts as down.
_QUIET_SECONDS = 1.0
# After all known servers have responded, new ones get this long.
_LINGER_SECONDS = 0.05
_MOST_ACCOUNTS = 1024


@dataclass(slots=True)
class SystemSource:
    options: SourceOptions
    connection: NatsConnection
    state: ServersState = field(init=False)
    skipped_requests: SkippedRequests = field(default_factory=SkippedRequests)
    accounts_per_page: int = _MOST_ACCOUNTS
    settings: ServerSettingsCache = field(init=False)
    account_stats: AccountStatsCache = field(init=False)
    refresh: ConfigRefresh = field(default_factory=ConfigRefresh)
    _connection_generation: int = -1

    def __post_init__(self) -> None:
        self.state = ServersState(self.options)
        self.settings = ServerSettingsCache(
            self.options.read_settings, self.options.health_interval
        )
        self.account_stats = AccountStatsCache(
            self.options.account_traffic, self.options.health_interval
        )

    async def poll(self, deadline: float) -> Snapshot:
        context = RequestContext(deadline, self.skipped_requests)
        responses: dict[str, ServerResponses] = {}
        with context.request("statsz"):
            await self.connection.open()
            self._fresh_link()
            if context.is_skipped("statsz"):
                raise RequestError("permission", f"{PING}.STATSZ was denied, retried later")
            await self._request_statsz(context, responses)
        if not (responses or context.succeeded("statsz")):
            return self.state.empty_snapshot(context)
        # A server that has just started may not know its streams yet: request its health.
        newcomer = any(
            self.state.startups.is_new(response.server) for response in responses.values()
        )
        due = newcomer or self.state.health_due(time.monotonic())
        if due and not context.is_skipped("healthz"):
            with context.request("healthz"):
                await self._request_health(context, responses)
                self.state.health_read(time.monotonic())
        settings = await self._request_settings(responses, deadline)
        accounts = await self._request_account_stats(responses, deadline)
        published = await self._count_publishes(responses, deadline)
        await self._request_jsz(context, responses)

        async def one_account(request: JszRequest) -> dict[str, WireJsz]:
            listed = {key for key, response in responses.items() if response.jsz}
            return await self._request_page(context, listed, request)

        snapshot = await self.refresh.snapshot(self.state, responses, one_account, context)
        snapshot = with_request_outcomes(published.added_to(snapshot), settings)
        return with_request_outcomes(snapshot, accounts)

    async def close(self) -> None:
        await self.connection.close()

    def _fresh_link(self) -> None:
        if self.connection.reconnects != self._connection_generation:
            # Permissions may have changed with the new connection.
            self._connection_generation = self.connection.reconnects
            self.skipped_requests.clear()
            self.state.publishes.skipped_requests.clear()
            self.settings.skipped_requests.clear()
            self.account_stats.skipped_requests.clear()
            self.refresh.skipped_requests.clear()

    def _domain(self, servers: Iterable[WireServer]) -> str:
        """The domain of the connected server, or of the first one with JetStream."""
        if self.options.domain is not None:
            return self.options.domain
        info = self.connection.server_info
        if info.get("jetstream"):
            return str(info.get("domain", ""))
        return next((server.domain for server in servers if server.jetstream), "")

    async def _request_statsz(
        self, context: RequestContext, responses: dict[str, ServerResponses]
    ) -> None:
        # Wait for missing servers too, or their return would never be noticed.
        registry = self.state.servers
        known = registry.names()
        discovery_due = registry.discovery_due(time.monotonic(), self.options.health_interval)
        replies = await self.connection.gather(
            PING + ".STATSZ",
            enough=lambda got: not discovery_due and known <= server_names(got),
            quiet=_QUIET_SECONDS,
            linger=_LINGER_SECONDS,
            timeout=context.left(),
        )
        read = ServerReplies("statsz")
        decoded = read.read(WireStatszResponse, replies, WireStatszResponse)
        domain = self._domain(response.server for _, response in decoded)
        other_domain_servers = 0
        for reply, response in decoded:
            server = response.server
            if server.jetstream and server.domain != domain:
                other_domain_servers += 1
                continue
            self.state.clocks.observe(server.name, reply.sent, reply.round_trip, server.time)
            responses[server.id] = ServerResponses(server, response.statsz)
        self.state.other_domain_servers = other_domain_servers
        names = frozenset(response.server.name for response in responses.values())
        ping = ClockPing(PING + ".STATSZ")
        await ping.repeat(self.connection, names, self.state.clocks, context)
        read.check()

    async def _request_health(
        self, context: RequestContext, responses: dict[str, ServerResponses]
    ) -> None:
        replies = await self._from_all(context, "HEALTHZ", b"", set(responses))
        read = ServerReplies("healthz")
        for _, response in read.read(WireHealthResponse, replies, WireHealthResponse):
            if response.server.id in responses and response.data is not None:
                self.state.health[response.server.name] = response.data
        read.check()

    async def _request_account_stats(
        self, responses: dict[str, ServerResponses], deadline: float
    ) -> RequestContext:
        cache, now = self.account_stats, time.monotonic()
        context = cache.context(deadline)
        if cache.due(responses.keys(), now) and not context.is_skipped(ACCOUNT_REQUEST):
            cache.note_requested(responses.keys(), now)
            with context.request(ACCOUNT_REQUEST):
                subject, servers = ACCOUNT_STATZ, set(responses)
                replies = await self._replies(context, subject, _EVERY_SERVER, servers)
                read, kind = ServerReplies("account statz"), WireAccountStatzResponse
                for _, found in read.read(kind, replies, kind):
                    if found.data is not None:
                        cache.update(found.server.id, found.data)
                read.check()
        cache.fill_in(responses.values())
        return context

    async def _request_settings(
        self, responses: dict[str, ServerResponses], deadline: float
    ) -> RequestContext:
        cache, now = self.settings, time.monotonic()
        context = cache.context(deadline)
        if cache.due(responses.keys(), now) and not context.is_skipped(SETTINGS_REQUEST):
            cache.note_requested(responses.keys(), now)
            with context.request(SETTINGS_REQUEST):
                cache.update(await self._from_all(context, "VARZ", b"", set(responses)))
        cache.fill_in(responses.values())
        return context

    async def _count_publishes(
        self, responses: dict[str, ServerResponses], deadline: float
    ) -> PublishResult:
        servers = {key: one.server.name for key, one in responses.items() if one.server.jetstream}
        most, at_once = self.options.max_response_bytes, self.accounts_per_page
        return await self.state.publishes.read(
            lambda context: SubszOverNats(self.connection, context, most, at_once),
            servers if self.state.may_count_publishes else {},
            deadline,
        )

    async def _request_jsz(
        self, context: RequestContext, responses: dict[str, ServerResponses]
    ) -> None:
        with_config = self.state.config_due(time.monotonic()) and not context.is_skipped(
            "jsz_config"
        )
        js_servers = {key for key, response in responses.items() if response.server.jetstream}
        if not js_servers:
            with context.request("jsz"):
                raise RequestError("no_jetstream", "no server of this system runs JetStream")
            return
        if with_config:
            larger = context.within(CONFIG_SHARE_OF_TIME)
            with larger.request("jsz_config"):
                await self._read_pages(larger, responses, js_servers, config=True)
                self.state.config_read(time.monotonic())
            if context.failed_with("jsz_config", RETRY_LATER):
                self.state.config_failed(time.monotonic())
        # The larger response includes the smaller one, which is requested only after a failure.
        all_listed = all(responses[key].lists_all for key in js_servers)
        smaller = not with_config or (context.refused("jsz_config") and not all_listed)
        if smaller and not context.is_skipped("jsz"):
            with context.request("jsz"):
                await self._read_pages(context, responses, js_servers, config=False)

    async def _read_pages(
        self,
        context: RequestContext,
        responses: dict[str, ServerResponses],
        servers: set[str],
        *,
        config: bool,
    ) -> None:
        while True:
            try:
                return await self._read_accounts(context, responses, servers, config=config)
            except RequestError as error:
                self.accounts_per_page = smaller_page(self.accounts_per_page, error)

    async def _read_accounts(
        self,
        context: RequestContext,
        responses: dict[str, ServerResponses],
        servers: set[str],
        *,
        config: bool,
    ) -> None:
        async def request(request: JszRequest) -> dict[str, WireJsz]:
            if not request.is_first:
                context.check_deadline("jsz")
            return await self._request_page(context, servers, request)

        read = await read_all_accounts(request, self.accounts_per_page, config=config)
        names = {key: responses[key].server.name for key in servers}
        for server, pages in read.pages.items():
            responses[server].jsz = pages
            responses[server].jsz_incomplete = server in read.incomplete
        if silent := servers - read.pages.keys():
            late = ", ".join(sorted(names[one] for one in silent))
            raise RequestError("timeout", f"no jsz from {late} within the deadline")
        if problem := read.problem(names):
            raise problem

    async def _request_page(
        self, context: RequestContext, servers: set[str], request: JszRequest
    ) -> dict[str, WireJsz]:
        try:
            replies = await self._from_all(context, "JSZ", request.payload(), servers, gzip=True)
        except RequestError as error:
            raise await self._cut_off(error) from error
        found = {}
        pages = await asyncio.to_thread(_read_jsz, replies, self.options.max_response_bytes)
        for reply, (server, page) in zip(replies, pages, strict=True):
            if server.id in servers:
                self.state.clocks.observe(server.name, reply.sent, reply.round_trip, server.time)
                found[server.id] = page
        return found

    async def _cut_off(self, error: RequestError) -> RequestError:
        """A server that closed the connection but is up found the response too large (max_pending)."""
        if error.reason != "disconnected":
            return error
        before = self.connection.last_server_id
        try:
            await self.connection.open()
        except RequestError:
            return error
        if before != self.connection.last_server_id:
            return error
        # The same server, so the same permissions: skipped requests stay skipped.
        self._connection_generation = self.connection.reconnects
        return RequestError(
            "size",
            "the server closed the connection while it sent jsz of "
            f"{self.accounts_per_page} accounts at once",
        )

    async def _from_all(
        self,
        context: RequestContext,
        what: str,
        payload: bytes,
        servers: set[str],
        *,
        gzip: bool = False,
    ) -> list[Reply]:
        """One reply of each server of `servers`."""
        return await self._replies(context, f"{PING}.{what}", payload, servers, gzip=gzip)

    async def _replies(
        self,
        context: RequestContext,
        subject: str,
        payload: bytes,
        servers: set[str],
        *,
        gzip: bool = False,
    ) -> list[Reply]:
        replies = await self.connection.gather(
            subject,
            payload,
            enough=lambda got: servers <= server_ids(got),
            quiet=context.left(),
            timeout=context.left(),
            headers={"Accept-Encoding": "gzip"} if gzip else None,
        )
        return list({server_id(reply): reply for reply in reversed(replies)}.values())


def _read_jsz(replies: list[Reply], max_bytes: int) -> list[tuple[WireServer, WireJsz]]:
    pages: list[tuple[WireServer, WireJsz]] = []
    for reply in replies:
        try:
            response = read_jsz_response(unpacked(reply, max_bytes), "jsz")
        except MalformedResponseError as error:
            pages.append((WireServer(id=server_id(reply)), PartlyReadJsz(detail=error.detail)))
            continue
        if response.error is not None:
            raise RequestError("api_error", f"jsz: {response.error.description}")
        pages.append((response.server, response.data or WireJsz()))
    return pages
