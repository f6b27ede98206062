"""The monitor source: requests to the HTTP monitoring port of every server."""

from __future__ import annotations

import asyncio
import ssl
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import aiohttp
from yarl import URL

from exporter.errors import RequestError
from exporter.model import Snapshot
from exporter.sources.clock_pings import sample_timeouts
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.row_by_row import read_jsz
from exporter.sources.decoding.server_decode import ServerResponses
from exporter.sources.decoding.wire_servers import (
    WireAccountStats,
    WireHealth,
    WireJsz,
    WireServer,
    WireVarz,
)
from exporter.sources.request_context import RequestContext, SkippedRequests, smaller_page
from exporter.sources.servers.account_stats import REQUEST as ACCOUNT_REQUEST
from exporter.sources.servers.account_stats import AccountStatsCache
from exporter.sources.servers.combined_outcome import CombinedOutcome
from exporter.sources.servers.config_refresh import ConfigRefresh
from exporter.sources.servers.interval_request import with_request_outcomes
from exporter.sources.servers.jsz_pages import JszRequest, read_all_accounts
from exporter.sources.servers.server_settings import server_settings
from exporter.sources.servers.snapshot import (
    CONFIG_SHARE_OF_TIME,
    ServersState,
    SourceOptions,
)
from exporter.sources.subsz.publish_counts import PublishResult
from exporter.sources.subsz.transport import SubszOverHttp
from exporter.sources.transport.credentials import TlsAccess, without_secrets
from streamgauge.serving.settings.loader import SettingsError, read_secret

_ACCOUNTS_PER_PAGE = 1024
_READ_BYTES = 1024 * 1024
_HEALTH_STATUSES = frozenset({200, 500, 503})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpAccess:
    addresses: tuple[str, ...] = field(repr=False)  # may contain a password
    user: str = ""
    password: str = field(default="", repr=False)
    password_file: Path | None = None
    tls: TlsAccess | None = None

    def headers(self) -> dict[str, str]:
        """Reads the password file, so it runs in a thread."""
        user, password = self.user, self.password
        if self.password_file is not None:
            password = read_secret(self.password_file)
        if not user:
            named = next((url for url in map(URL, self.addresses) if url.user), URL())
            user, password = named.user or "", named.password or ""
        return {"Authorization": _basic(user, password)} if user else {}


@dataclass(slots=True)
class _Plan:
    """Which requests this poll sends beside the state."""

    config: bool
    health: bool
    context: RequestContext
    combined: CombinedOutcome


@dataclass(slots=True)
class MonitorSource:
    options: SourceOptions
    access: HttpAccess
    accounts_per_page: int = _ACCOUNTS_PER_PAGE
    state: ServersState = field(init=False)
    account_stats: AccountStatsCache = field(init=False)
    refresh: ConfigRefresh = field(default_factory=ConfigRefresh)
    skipped_requests: SkippedRequests = field(default_factory=SkippedRequests)
    _session: aiohttp.ClientSession | None = None
    _was_refused: bool = False  # login refused: read password and certificate again
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.state = ServersState(self.options)
        self.account_stats = AccountStatsCache(
            self.options.account_traffic, self.options.health_interval
        )

    async def poll(self, deadline: float) -> Snapshot:
        context = RequestContext(deadline, self.skipped_requests)
        if self._was_refused:
            self._was_refused = False
            await self.close()
        now = time.monotonic()
        config = self.state.config_due(now) and not context.is_skipped("jsz_config")
        plan = _Plan(config, self.state.health_due(now), context, CombinedOutcome())
        results = await asyncio.gather(
            *(self._read_server(address, plan) for address in self.access.addresses)
        )
        # Two addresses may lead to the same server: count it once.
        found = {
            response.server.id: (address, response) for address, response in filter(None, results)
        }
        responses = {key: response for key, (_, response) in found.items()}
        accounts = await self._request_account_stats(found, deadline)
        published = await self._count_publishes(found, deadline)
        await asyncio.gather(*(self._read_streams(*one, plan) for one in found.values()))
        if responses and not any(response.server.jetstream for response in responses.values()):
            plan.combined.failed("jsz", RequestError("no_jetstream", "no server runs JetStream"))
        plan.combined.report_to(context)
        if not responses:
            return self.state.empty_snapshot(context)
        if plan.config and context.succeeded("jsz_config"):
            self.state.config_read(now)
        elif plan.config:
            self.state.config_failed(now)
        if plan.health:
            self.state.health_read(now)
        same_domain = self._one_domain(responses)

        async def one_account(request: JszRequest) -> dict[str, WireJsz]:
            got = [self._account(found[key][0], request, context) for key in same_domain]
            return dict(zip(same_domain, await asyncio.gather(*got), strict=True))

        snapshot = await self.refresh.snapshot(self.state, same_domain, one_account, context)
        return with_request_outcomes(published.added_to(snapshot), accounts)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _account(self, address: str, request: JszRequest, context: RequestContext) -> WireJsz:
        body, _ = await self._get(address, "jsz", request.query(), context)
        return await asyncio.to_thread(read_jsz, body, "jsz")

    def _one_domain(self, responses: Mapping[str, ServerResponses]) -> dict[str, ServerResponses]:
        all_responses = list(responses.values())
        domain = self.options.domain
        with_jetstream = [
            response.server for response in all_responses if response.server.jetstream
        ]
        if domain is None:
            domain = with_jetstream[0].domain if with_jetstream else ""
        kept = {
            key: response
            for key, response in responses.items()
            if response.server.domain == domain or not response.server.jetstream
        }
        self.state.other_domain_servers = len(all_responses) - len(kept)
        return kept

    async def _read_server(self, address: str, plan: _Plan) -> tuple[str, ServerResponses] | None:
        response: ServerResponses | None = None
        with plan.combined.request("varz", without_secrets(address)):
            response = await self._request_varz(address, plan.context)
        if response is None:
            return None
        # A server that has just started may not know its streams yet: request its health.
        if plan.health or self.state.startups.is_new(response.server):
            with plan.combined.request("healthz", response.server.name):
                body, _ = await self._get(address, "healthz", {}, plan.context, _HEALTH_STATUSES)
                self.state.health[response.server.name] = read_response(WireHealth, body, "healthz")
        return address, response

    async def _request_account_stats(
        self, found: Mapping[str, tuple[str, ServerResponses]], deadline: float
    ) -> RequestContext:
        cache, now = self.account_stats, time.monotonic()
        context, combined = cache.context(deadline), CombinedOutcome()

        async def read(server: str, address: str, name: str) -> None:
            with combined.request(ACCOUNT_REQUEST, name):
                body, _ = await self._get(address, "accstatz", {"unused": "1"}, context)
                cache.update(server, read_response(WireAccountStats, body, "accstatz"))

        if cache.due(found.keys(), now) and not context.is_skipped(ACCOUNT_REQUEST):
            cache.note_requested(found.keys(), now)
            reads = [read(key, address, one.server.name) for key, (address, one) in found.items()]
            await asyncio.gather(*reads)
        combined.report_to(context)
        cache.fill_in(response for _, response in found.values())
        return context

    async def _count_publishes(
        self, found: Mapping[str, tuple[str, ServerResponses]], deadline: float
    ) -> PublishResult:
        servers = {key: one.server.name for key, (_, one) in found.items() if one.server.jetstream}

        def transport(context: RequestContext) -> SubszOverHttp:
            async def get(server: str, path: str, query: Mapping[str, str]) -> bytes:
                body, _ = await self._get(found[server][0], path, query, context)
                return body

            return SubszOverHttp(get, self.accounts_per_page)

        known = servers if self.state.may_count_publishes else {}
        return await self.state.publishes.read(transport, known, deadline)

    async def _read_streams(self, address: str, response: ServerResponses, plan: _Plan) -> None:
        if not response.server.jetstream:
            return
        context, name = plan.context, response.server.name
        smaller = True
        if plan.config:
            larger = context.within(CONFIG_SHARE_OF_TIME)
            with plan.combined.request("jsz_config", name):
                try:
                    await self._read_pages(address, response, larger, config=True)
                    smaller = False
                except RequestError as error:
                    smaller = error.reason != "partial" and not response.lists_all
                    raise
        # The larger response includes the smaller one, which is requested only after a failure.
        if smaller and not context.is_skipped("jsz"):
            with plan.combined.request("jsz", name):
                await self._read_pages(address, response, context, config=False)

    async def _request_varz(self, address: str, context: RequestContext) -> ServerResponses:
        varz, sent, round_trip = await self._timed_varz(address, context)
        js = varz.jetstream
        server = WireServer(
            name=varz.server_name or varz.server_id,
            id=varz.server_id,
            host=str(URL(address).host or ""),
            ver=varz.version,
            cluster=varz.cluster.name if varz.cluster else "",
            domain=js.config.domain if js and js.config else "",
            # A server that was requested before it had a config omits it until its restart.
            jetstream=bool(js and (js.config or js.stats)),
            time=varz.now,
        )
        self.state.clocks.observe(server.name, sent, round_trip, varz.now)
        await self._sample_clock(address, server.name, context)
        return ServerResponses(server, varz, settings=server_settings(varz))

    async def _timed_varz(
        self, address: str, context: RequestContext
    ) -> tuple[WireVarz, float, float]:
        """With the time of the request and its round trip."""
        sent, started = time.time(), time.perf_counter()
        body, _ = await self._get(address, "varz", {}, context)
        round_trip = time.perf_counter() - started
        return read_response(WireVarz, body, "varz"), sent, round_trip

    async def _sample_clock(self, address: str, name: str, context: RequestContext) -> None:
        try:
            for seconds in sample_timeouts(context):
                async with asyncio.timeout(seconds):
                    varz, sent, round_trip = await self._timed_varz(address, context)
                self.state.clocks.observe(name, sent, round_trip, varz.now)
        except (RequestError, TimeoutError):
            # The first response is there; if the server is lost, the next request reports it.
            return

    async def _read_pages(
        self, address: str, response: ServerResponses, context: RequestContext, *, config: bool
    ) -> None:
        while True:
            limit = self.accounts_per_page
            try:
                return await self._read_accounts(address, response, context, limit, config=config)
            except RequestError as error:
                # The response of another server may have made the pages smaller meanwhile.
                self.accounts_per_page = min(self.accounts_per_page, smaller_page(limit, error))

    async def _read_accounts(
        self,
        address: str,
        response: ServerResponses,
        context: RequestContext,
        limit: int,
        *,
        config: bool,
    ) -> None:
        key = response.server.id

        async def request(request: JszRequest) -> dict[str, WireJsz]:
            if not request.is_first:
                context.check_deadline("jsz")
            body, _ = await self._get(address, "jsz", request.query(), context)
            return {key: await asyncio.to_thread(read_jsz, body, "jsz")}

        read = await read_all_accounts(request, limit, config=config)
        response.jsz, response.jsz_incomplete = read.pages[key], key in read.incomplete
        _fill_in_config(response)
        if problem := read.problem({}):
            raise problem

    async def _get(
        self,
        address: str,
        path: str,
        query: Mapping[str, str],
        context: RequestContext,
        statuses: frozenset[int] = frozenset({200}),
    ) -> tuple[bytes, int]:
        url = URL(address) / path
        if self.access.tls is not None and url.scheme != "https":
            detail = (
                f"{path}: TLS is required by the configuration, but the address is not https://"
            )
            raise RequestError("connection", detail)
        try:
            session = await self._open()
            timeout = aiohttp.ClientTimeout(total=context.left())
            # A redirect could take the password to another host, or out of TLS.
            async with session.get(
                url.with_user(None), params=query, timeout=timeout, allow_redirects=False
            ) as response:
                body = await self._read_bounded(response, path)
                status = response.status
        except TimeoutError as error:
            raise RequestError("timeout", f"{path}: no response in time") from error
        except (aiohttp.ClientError, OSError, ssl.SSLError, SettingsError) as error:
            self._was_refused |= isinstance(error, ssl.SSLError | aiohttp.ClientSSLError)
            raise RequestError("connection", f"{path}: {error}") from error
        if status in (401, 403):
            self._was_refused = True
            raise RequestError("permission", f"{path}: HTTP {status}")
        if status in _REDIRECTS:
            detail = f"{path}: HTTP {status}, redirects are not followed"
            raise RequestError("http_status", detail)
        if status not in statuses:
            raise RequestError("http_status", f"{path}: HTTP {status}")
        return body, status

    async def _read_bounded(self, response: aiohttp.ClientResponse, path: str) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_chunked(_READ_BYTES):
            body += chunk
            if len(body) > self.options.max_response_bytes:
                most = self.options.max_response_bytes
                raise RequestError("size", f"{path}: more than {most} bytes")
        return bytes(body)

    async def _open(self) -> aiohttp.ClientSession:
        # The first requests run concurrently: only one of them creates the session.
        async with self._opening:
            if self._session is None:
                tls = self.access.tls
                context = await asyncio.to_thread(tls.context) if tls else None
                # limit_per_host: never more than one request at a time to a server.
                connector = aiohttp.TCPConnector(limit_per_host=1, ssl=context or True)
                headers = await asyncio.to_thread(self.access.headers)
                self._session = aiohttp.ClientSession(connector=connector, headers=headers)
            return self._session


def _fill_in_config(response: ServerResponses) -> None:
    js, config = response.jetstream, response.jsz[0].config
    if js is not None and js.config is None and config is not None:
        js.config, response.server.domain = config, config.domain


def _basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode("ascii")
