"""The account source: requests to the JetStream API as an ordinary user of one account."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from exporter.errors import RequestError
from exporter.model import Account, AccountUsage, Server, Snapshot
from exporter.signals.clock import ClockState
from exporter.sources.api_counters import ApiCounters
from exporter.sources.clock_pings import ClockPing
from exporter.sources.decoding.decode import limit, read_response, version_numbers
from exporter.sources.decoding.network_decode import account_on_server
from exporter.sources.decoding.wire import WireAccountInfo, WireUsage
from exporter.sources.decoding.wire_servers import (
    WireAccountStat,
    WireAccountStatzResponse,
    WireServer,
    WireUserInfo,
)
from exporter.sources.jetstream_api.assets import AccountAssets
from exporter.sources.jetstream_api.client import AccountApi, api_prefix
from exporter.sources.request_context import RequestContext, SkippedRequests
from exporter.sources.servers.registry import ServerRegistry
from exporter.sources.servers.server_replies import ServerReplies
from exporter.sources.servers.snapshot import SourceOptions, unreadable_thresholds
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.responder import server_names

STATZ = "$SYS.REQ.ACCOUNT.PING.STATZ"
_EVERY_SERVER = b'{"include_unused":true}'
USER_INFO = "$SYS.REQ.USER.INFO"
# Servers respond to a ping within milliseconds of each other; a later one counts as down.
_QUIET_SECONDS = 0.5
# After all known servers have responded, new ones get this long.
_LINGER_SECONDS = 0.05
_USER_INFO_SINCE = (2, 10)
_UNKNOWN_ACCOUNT = "account"


@dataclass(slots=True)
class AccountSource:
    options: SourceOptions
    connection: NatsConnection
    clocks: ClockState = field(default_factory=ClockState)
    skipped_requests: SkippedRequests = field(default_factory=SkippedRequests)
    api_counters: ApiCounters = field(default_factory=ApiCounters)
    servers: ServerRegistry = field(init=False)
    assets: AccountAssets = field(init=False)
    _account: str = ""  # the name that the server reports; "" until then
    _name_in_statz: str = ""
    _connection_generation: int = -1

    def __post_init__(self) -> None:
        self.servers = ServerRegistry(self.options.remember_seconds, self.options.expected_servers)
        api = AccountApi(self.connection, api_prefix(self.options.domain))
        options = self.options
        self.assets = AccountAssets(
            api, options.filters, options.concurrency, options.metadata_keys
        )

    async def poll(self, deadline: float) -> Snapshot:
        context = RequestContext(deadline, self.skipped_requests)
        server_stats: list[tuple[WireServer, WireAccountStat | None]] = []
        info: WireAccountInfo | None = None
        await self._open(context)
        if self.connection.server_info:
            if not context.is_skipped("account_statz"):
                with context.request("account_statz"):
                    await self._request_statz(context, server_stats)
            await self._request_user(context)
            if not context.is_skipped("account_info"):
                with context.request("account_info"):
                    info = await self.assets.api.account_info(context)
            await self.assets.read(self._account_label(), context)
        else:
            self.assets.clear()
        return self._snapshot(context, server_stats, info)

    async def close(self) -> None:
        await self.connection.close()

    async def _open(self, context: RequestContext) -> None:
        started = time.perf_counter()
        try:
            await self.connection.open()
        except RequestError as error:
            context.failed("stream_list", time.perf_counter() - started, error)
            return
        if self.connection.reconnects != self._connection_generation:
            # A new connection may have other permissions.
            self._connection_generation = self.connection.reconnects
            self.skipped_requests.clear()
            self.assets.denied.clear()

    def _account_label(self) -> str:
        return self.options.account or self._account or _UNKNOWN_ACCOUNT

    async def _request_user(self, context: RequestContext) -> None:
        if self.options.account or self._account or context.is_skipped("user_info"):
            return
        if version_numbers(str(self.connection.server_info.get("version", ""))) < _USER_INFO_SINCE:
            return
        with context.request("user_info"):
            reply = await self.connection.request(USER_INFO, timeout=context.left(2.0))
            user = read_response(WireUserInfo, reply.data, "user info").data
            if user is not None:
                self._account = user.account_name or self._name_in_statz or user.account

    async def _request_statz(
        self, context: RequestContext, found: list[tuple[WireServer, WireAccountStat | None]]
    ) -> None:
        # Wait for missing servers too, or their return would never be noticed.
        known = self.servers.names()
        discovery_due = self.servers.discovery_due(time.monotonic(), self.options.health_interval)
        replies = await self.connection.gather(
            STATZ,
            _EVERY_SERVER,
            enough=lambda got: not discovery_due and known <= server_names(got),
            quiet=_QUIET_SECONDS,
            linger=_LINGER_SECONDS,
            timeout=context.left(),
        )
        server_stats: dict[str, tuple[WireServer, WireAccountStat | None]] = {}
        read, kind = ServerReplies("account statz"), WireAccountStatzResponse
        for reply, response in read.read(kind, replies, kind):
            stats = (response.data.account_statz or []) if response.data else []
            server_stats[response.server.id] = (response.server, stats[0] if stats else None)
            self.clocks.observe(
                response.server.name, reply.sent, reply.round_trip, response.server.time
            )
        self._name_from_statz(server_stats)
        names = frozenset(server.name for server, _ in server_stats.values())
        await ClockPing(STATZ, _EVERY_SERVER).repeat(self.connection, names, self.clocks, context)
        found += server_stats.values()
        read.check()

    def _name_from_statz(
        self, server_stats: dict[str, tuple[WireServer, WireAccountStat | None]]
    ) -> None:
        # In operator mode an account has a name beside its key. STATZ reports it since 2.11, USER.INFO
        # since 2.12. Servers before 2.10 have no USER.INFO.
        stats = [stat for _, stat in server_stats.values() if stat is not None]
        self._name_in_statz = next((stat.name for stat in stats if stat.name), "")
        if stats and not self._account and _version_of_all(server_stats) < _USER_INFO_SINCE:
            self._account = self._name_in_statz or stats[0].acc

    def _snapshot(
        self,
        context: RequestContext,
        server_stats: list[tuple[WireServer, WireAccountStat | None]],
        info: WireAccountInfo | None,
    ) -> Snapshot:
        now = time.time()
        succeeded = [self._server(server, now) for server, _ in server_stats]
        streams, consumers = self.assets.streams, self.assets.consumers
        # Without permission for STATZ nothing is known about the servers, not even that they are down.
        not_permitted = context.is_skipped("account_statz")
        servers = () if not_permitted else self.servers.with_silent(now, succeeded)
        expected = self.servers.expected()
        all_there = not_permitted or len(succeeded) >= expected
        return Snapshot(
            system=self.options.system,
            taken=now,
            streams=streams,
            consumers=consumers,
            servers=servers,
            accounts=self.api_counters.risen(
                self._accounts(info, server_stats),
                frozenset(server.id for server, _ in server_stats),
            ),
            outcomes=tuple(context.outcomes),
            skipped=context.skipped_requests.skipped(time.monotonic()),
            faults=unreadable_thresholds("consumer_list", streams, consumers),
            servers_expected=expected,
            servers_responding=len(succeeded),
            complete=context.complete and bool(context.outcomes) and all_there,
            own_account=self._account_label(),
        )

    def _server(self, server: WireServer, now: float) -> Server:
        return Server(
            name=server.name,
            id=server.id,
            host=server.host,
            up=True,
            version=server.ver,
            cluster=server.cluster,
            domain=server.domain,
            jetstream=server.jetstream,
            clock=self.clocks.estimate(server.name, now),
        )

    def _accounts(
        self,
        info: WireAccountInfo | None,
        server_stats: list[tuple[WireServer, WireAccountStat | None]],
    ) -> tuple[Account, ...]:
        if info is None and not server_stats:
            return ()
        usage: tuple[AccountUsage, ...] = ()
        if info is not None:
            tiers = info.tiers or {"": info}
            usage = tuple(_usage(tier, spent) for tier, spent in sorted(tiers.items()))
        return (
            Account(
                name=self._account_label(),
                usage=usage,
                api_requests=info.api.total if info else None,
                api_errors=info.api.errors if info else None,
                servers=tuple(
                    account_on_server(server.name, stat) for server, stat in server_stats if stat
                ),
            ),
        )


def _usage(tier: str, spent: WireUsage) -> AccountUsage:
    return AccountUsage(
        tier=tier,
        storage_used=limit(spent.storage),
        storage_reserved=_reserved(spent.reserved_storage),
        storage_limit=limit(spent.limits.max_storage),
        memory_used=limit(spent.memory),
        memory_reserved=_reserved(spent.reserved_memory),
        memory_limit=limit(spent.limits.max_memory),
        streams=spent.streams,
        streams_limit=limit(spent.limits.max_streams),
        consumers=spent.consumers,
        consumers_limit=limit(spent.limits.max_consumers),
        storage_unlimited=limit(spent.limits.max_storage) is None,
        memory_unlimited=limit(spent.limits.max_memory) is None,
    )


def _reserved(reserved: int | None) -> int | None:
    """2.10 adds -1 for every stream without a limit, so "none" may be a huge number."""
    return None if reserved is None else limit(reserved)


def _version_of_all(
    server_stats: dict[str, tuple[WireServer, WireAccountStat | None]],
) -> tuple[int, ...]:
    return min((version_numbers(server.ver) for server, _ in server_stats.values()), default=())
