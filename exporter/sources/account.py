"""Asks as an ordinary user of one account: the JetStream API and the servers' own statistics."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from exporter.errors import RequestError
from exporter.model import Account, AccountUsage, Server, Snapshot
from exporter.signals.clock import ClockState
from exporter.sources.api_counters import ApiCounters
from exporter.sources.clock_pings import ClockPing
from exporter.sources.decoding.decode import limit, read_response, version_numbers
from exporter.sources.decoding.wire import (
    WireAccountInfo,
    WireAccountStat,
    WireAccountStatzResponse,
    WireServer,
    WireUsage,
    WireUserInfo,
)
from exporter.sources.jetstream_api.assets import AccountAssets
from exporter.sources.jetstream_api.client import AccountApi, api_prefix
from exporter.sources.request_context import LeftOut, RequestContext
from exporter.sources.servers.snapshot import SourceOptions, unreadable_thresholds
from exporter.sources.silent_assets import ServerRegistry
from exporter.sources.transport.connection import NatsLink
from exporter.sources.transport.responder import server_names

STATZ = "$SYS.REQ.ACCOUNT.PING.STATZ"
_EVERY_SERVER = b'{"include_unused":true}'
USER_INFO = "$SYS.REQ.USER.INFO"
# Servers answer a ping within milliseconds of each other; who has not spoken by then is away.
_QUIET_SECONDS = 0.5
# Once all known servers answered, newcomers get this long.
_LINGER_SECONDS = 0.05
_USER_INFO_SINCE = (2, 10)
_UNKNOWN_ACCOUNT = "account"


@dataclass(slots=True)
class AccountSource:
    options: SourceOptions
    link: NatsLink
    clocks: ClockState = field(default_factory=ClockState)
    left_out: LeftOut = field(default_factory=LeftOut)
    api_counters: ApiCounters = field(default_factory=ApiCounters)
    servers: ServerRegistry = field(init=False)
    assets: AccountAssets = field(init=False)
    _account: str = ""  # as the server calls it; "" until it said so
    _name_in_statz: str = ""
    _link_generation: int = -1

    def __post_init__(self) -> None:
        self.servers = ServerRegistry(self.options.remember_seconds, self.options.expected_servers)
        api = AccountApi(self.link, api_prefix(self.options.domain))
        self.assets = AccountAssets(api, self.options.filters, self.options.concurrency)

    async def poll(self, deadline: float) -> Snapshot:
        context = RequestContext(deadline, self.left_out)
        heard: list[tuple[WireServer, WireAccountStat | None]] = []
        info: WireAccountInfo | None = None
        await self._open(context)
        if self.link.server_info:
            if not context.rests("account_statz"):
                with context.request("account_statz"):
                    heard = await self._request_statz(context)
            await self._request_user(context)
            if not context.rests("account_info"):
                with context.request("account_info"):
                    info = await self.assets.api.account_info(context)
            await self.assets.read(self._account_label(), context)
        else:
            self.assets.clear()
        return self._snapshot(context, heard, info)

    async def close(self) -> None:
        await self.link.close()

    async def _open(self, context: RequestContext) -> None:
        started = time.perf_counter()
        try:
            await self.link.open()
        except RequestError as error:
            context.failed("stream_list", time.perf_counter() - started, error)
            return
        if self.link.reconnects != self._link_generation:
            # Another connection may have other permissions, or another server's names.
            self._link_generation = self.link.reconnects
            self.left_out.clear()
            self.assets.denied.clear()

    def _account_label(self) -> str:
        return self.options.account or self._account or _UNKNOWN_ACCOUNT

    async def _request_user(self, context: RequestContext) -> None:
        if self.options.account or self._account or context.rests("user_info"):
            return
        if version_numbers(str(self.link.server_info.get("version", ""))) < _USER_INFO_SINCE:
            return
        with context.request("user_info"):
            reply = await self.link.request(USER_INFO, timeout=context.left(2.0))
            said = read_response(WireUserInfo, reply.data, "user info").data
            if said is not None:
                self._account = said.account_name or self._name_in_statz or said.account

    async def _request_statz(
        self, context: RequestContext
    ) -> list[tuple[WireServer, WireAccountStat | None]]:
        # Who is missed is waited for, else its return could go unheard for ever.
        known = self.servers.names()
        roll_call = self.servers.roll_call(time.monotonic(), self.options.health_interval)
        replies = await self.link.gather(
            STATZ,
            _EVERY_SERVER,
            enough=lambda got: not roll_call and known <= server_names(got),
            quiet=_QUIET_SECONDS,
            linger=_LINGER_SECONDS,
            timeout=context.left(),
        )
        heard: dict[str, tuple[WireServer, WireAccountStat | None]] = {}
        for reply in replies:
            response = read_response(WireAccountStatzResponse, reply.data, "account statz")
            stats = (response.data.account_statz or []) if response.data else []
            heard[response.server.id] = (response.server, stats[0] if stats else None)
            self.clocks.observe(
                response.server.name, reply.sent, reply.round_trip, response.server.time
            )
        self._name_from_statz(heard)
        names = frozenset(server.name for server, _ in heard.values())
        await ClockPing(STATZ, _EVERY_SERVER).repeat(self.link, names, self.clocks, context)
        return list(heard.values())

    def _name_from_statz(self, heard: dict[str, tuple[WireServer, WireAccountStat | None]]) -> None:
        # In operator mode an account has a name beside its key: STATZ tells it since 2.11, USER.INFO
        # since 2.12. Before 2.10 there is no USER.INFO at all.
        stats = [stat for _, stat in heard.values() if stat is not None]
        self._name_in_statz = next((stat.name for stat in stats if stat.name), "")
        if stats and not self._account and _version_of_all(heard) < _USER_INFO_SINCE:
            self._account = self._name_in_statz or stats[0].acc

    def _snapshot(
        self,
        context: RequestContext,
        heard: list[tuple[WireServer, WireAccountStat | None]],
        info: WireAccountInfo | None,
    ) -> Snapshot:
        now = time.time()
        succeeded = [self._server(server, now) for server, _ in heard]
        streams, consumers = self.assets.streams, self.assets.consumers
        # Who may not call the roll knows nothing of the servers, not even that they are silent.
        unheard = context.rests("account_statz")
        servers = () if unheard else self.servers.with_silent(now, succeeded)
        expected = self.servers.expected()
        all_there = unheard or len(succeeded) >= expected
        return Snapshot(
            system=self.options.system,
            taken=now,
            streams=streams,
            consumers=consumers,
            servers=servers,
            accounts=self.api_counters.risen(
                self._accounts(info, heard), frozenset(server.id for server, _ in heard)
            ),
            outcomes=tuple(context.outcomes),
            skipped=context.left_out.skipped(time.monotonic()),
            faults=unreadable_thresholds("consumer_list", streams, consumers),
            servers_expected=expected,
            servers_responding=len(succeeded),
            complete=context.complete and bool(context.outcomes) and all_there,
            own_account=self._account_label(),
        )

    def _server(self, said: WireServer, now: float) -> Server:
        return Server(
            name=said.name,
            id=said.id,
            host=said.host,
            up=True,
            version=said.ver,
            cluster=said.cluster,
            domain=said.domain,
            jetstream=said.jetstream,
            clock=self.clocks.estimate(said.name, now),
        )

    def _accounts(
        self,
        info: WireAccountInfo | None,
        heard: list[tuple[WireServer, WireAccountStat | None]],
    ) -> tuple[Account, ...]:
        if info is None and not heard:
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
                slow_consumers=tuple(
                    (server.name, stat.slow_consumers) for server, stat in heard if stat
                ),
            ),
        )


def _usage(tier: str, spent: WireUsage) -> AccountUsage:
    return AccountUsage(
        tier=tier,
        storage_used=spent.storage,
        storage_reserved=_promised(spent.reserved_storage),
        storage_limit=limit(spent.limits.max_storage),
        memory_used=spent.memory,
        memory_reserved=_promised(spent.reserved_memory),
        memory_limit=limit(spent.limits.max_memory),
        streams=spent.streams,
        streams_limit=limit(spent.limits.max_streams),
        consumers=spent.consumers,
        consumers_limit=limit(spent.limits.max_consumers),
        storage_unlimited=limit(spent.limits.max_storage) is None,
        memory_unlimited=limit(spent.limits.max_memory) is None,
    )


def _promised(reserved: int | None) -> int | None:
    """2.10 adds -1 for every stream without a limit, and so may write a huge number for none."""
    return None if reserved is None else limit(reserved)


def _version_of_all(heard: dict[str, tuple[WireServer, WireAccountStat | None]]) -> tuple[int, ...]:
    return min((version_numbers(server.ver) for server, _ in heard.values()), default=())
