"""Responses of servers -> servers, accounts and meta group of the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec.structs import replace

from exporter.model import (
    Account,
    AccountOnServer,
    AccountUsage,
    Consumer,
    MetaGroup,
    Server,
    ServerSettings,
    Stream,
)
from exporter.signals.clock import ClockState
from exporter.sources.decoding.decode import (
    NANOSECONDS_PER_SECOND,
    known_time,
    limit,
    peers,
    positive,
    seconds,
    version_numbers,
)
from exporter.sources.decoding.network_decode import account_on_server, leaf_nodes, server_network
from exporter.sources.decoding.wire_servers import (
    WireAccountDetail,
    WireAccountStat,
    WireHealth,
    WireJetStream,
    WireJsz,
    WireMeta,
    WireServer,
    WireStats,
)

_LEADER_SINCE_REPORTED = (2, 11, 9)
_SYNC_REPORTED = (2, 10)
# A consumer's new leader shows a backlog of 0 until it has counted; measured: less than 0.1 s.
_SETTLING = timedelta(seconds=1)


@dataclass(slots=True)
class ServerResponses:
    """All responses of one server in one poll."""

    server: WireServer
    stats: WireStats | None = None
    health: WireHealth | None = None
    jsz: list[WireJsz] = field(default_factory=list)  # one per page of accounts
    jsz_incomplete: bool = False  # some of its accounts are on no page
    settings: ServerSettings | None = None
    account_stats: list[WireAccountStat] | None = None  # None: not requested, or no response

    @property
    def jetstream(self) -> WireJetStream | None:
        return self.stats.jetstream if self.stats else None

    @property
    def meta(self) -> WireMeta | None:
        reported = [page.meta_cluster for page in self.jsz if page.meta_cluster]
        if reported:
            return reported[0]
        return self.jetstream.meta if self.jetstream else None

    @property
    def api_level(self) -> int | None:
        reported = self.jsz[0].api if self.jsz else None
        return reported.level if reported else None

    @property
    def settled_before(self) -> datetime | None:
        """A leader elected before this time has counted its backlog; None: not reported by this version."""
        now = known_time(self.jsz[0].now) if self.jsz else None
        if now is None or version_numbers(self.server.ver) < _LEADER_SINCE_REPORTED:
            return None
        return now - _SETTLING

    @property
    def lists_streams(self) -> bool:
        return any(detail.stream_detail for detail in self.account_details())

    @property
    def lists_all(self) -> bool:
        """Whether a stream that it leads is in its response."""
        return bool(self.jsz) and not self.jsz_incomplete

    def account_details(self) -> list[WireAccountDetail]:
        return [detail for page in self.jsz for detail in page.account_details or ()]


def decode_servers(
    responses: Iterable[ServerResponses],
    streams: tuple[Stream, ...],
    consumers: tuple[Consumer, ...],
    clocks: ClockState,
    now: float,
) -> list[Server]:
    stream_leaders = Counter(row.leader for row in streams if row.up)
    consumer_leaders = Counter(row.leader for row in consumers if row.up)
    found = []
    for response in responses:
        name = response.server.name
        # Count leaders only for servers whose own list was read.
        led = (stream_leaders[name], consumer_leaders[name]) if response.lists_all else (None, None)
        found.append(_server(response, led, clocks, now))
    return found


def _server(
    response: ServerResponses, led: tuple[int | None, int | None], clocks: ClockState, now: float
) -> Server:
    server, stats, js = response.server, response.stats, response.jetstream
    usage = js.stats if js else None
    limits = js.config if js else None
    meta = response.meta
    return Server(
        name=server.name,
        id=server.id,
        host=server.host,
        up=True,
        version=server.ver,
        cluster=server.cluster,
        domain=server.domain,
        jetstream=server.jetstream,
        api_level=usage.api.level if usage else None,
        start=stats.start if stats else None,
        process_memory_bytes=stats.mem if stats else None,
        cpu_ratio=stats.cpu / 100 / stats.cores if stats and stats.cores else None,
        slow_consumers=stats.slow_consumers if stats else None,
        network=server_network(stats),
        leaf_nodes=leaf_nodes(stats, response.account_stats),
        storage_used=limit(usage.storage) if usage else None,
        storage_reserved=limit(usage.reserved_storage) if usage else None,
        storage_max=positive(limits.max_storage) if limits else None,
        memory_used=limit(usage.memory) if usage else None,
        memory_reserved=limit(usage.reserved_memory) if usage else None,
        memory_max=positive(limits.max_memory) if limits else None,
        ha_assets=usage.ha_assets if usage else None,
        stream_leaders=led[0],
        consumer_leaders=led[1],
        api_requests=usage.api.total if usage else None,
        api_errors=usage.api.errors if usage else None,
        api_inflight=usage.api.inflight if usage else None,
        healthy=response.health.status == "ok" if response.health else None,
        health_detail=response.health.error if response.health else "",
        clock=clocks.estimate(server.name, now),
        meta_leader=meta.leader == server.name if meta else None,
        meta_leader_seen=meta.leader if meta else None,
        sync_always=limits.sync_always if limits and _reports_sync(server) else None,
        sync_interval_seconds=seconds(limits.sync_interval) if limits else None,
        settings=response.settings,
    )


def _reports_sync(server: WireServer) -> bool:
    """Older servers have the setting too, but do not report it."""
    return version_numbers(server.ver) >= _SYNC_REPORTED


def decode_meta(responses: Iterable[ServerResponses]) -> MetaGroup | None:
    """The meta group as its leader reports it; without a leader only its size."""
    reported = [
        (response.server.name, response.meta) for response in responses if response.meta is not None
    ]
    if not reported:
        return None
    for name, meta in reported:
        if meta.leader and meta.leader == name:
            snapshot = meta.snapshot
            return MetaGroup(
                leader=meta.leader,
                size=positive(meta.cluster_size),
                pending=meta.pending,  # not reported before 2.10
                snapshot_seconds=snapshot.last_duration / NANOSECONDS_PER_SECOND
                if snapshot
                else None,
                replicas=peers(meta.replicas or []),
            )
    size = max(meta.cluster_size for _, meta in reported)
    return MetaGroup(leader="", size=positive(size))


def decode_accounts(
    responses: Sequence[ServerResponses],
    streams: tuple[Stream, ...],
    consumers: tuple[Consumer, ...],
    names: Mapping[str, str],
) -> tuple[Account, ...]:
    """`names`: of accounts by their id. Every server reports the usage of the whole system, some with delay: the maximum is true.

    What JSZ calls the reserve of an account is its limit.
    """
    per_account: dict[str, list[WireAccountDetail]] = {}
    for response in responses:
        for detail in response.account_details():
            per_account.setdefault(detail.name, []).append(detail)
    stream_counts = Counter(row.account for row in streams)
    consumer_counts = Counter(row.account for row in consumers)
    found = [
        _account(name, details, stream_counts[name], consumer_counts[name])
        for name, details in per_account.items()
    ]
    on_servers = _on_servers(responses, names)
    # An account without JetStream has connections and traffic too.
    found += [Account(name) for name in on_servers if name not in per_account]
    return tuple(replace(one, servers=tuple(on_servers.get(one.name, ()))) for one in found)


def _on_servers(
    responses: Iterable[ServerResponses], names: Mapping[str, str]
) -> dict[str, list[AccountOnServer]]:
    """By the name of the account; older servers report only its id."""
    found: dict[str, list[AccountOnServer]] = {}
    for response in responses:
        for stat in response.account_stats or ():
            name = names.get(stat.acc) or stat.name or stat.acc
            found.setdefault(name, []).append(account_on_server(response.server.name, stat))
    return found


def _account(name: str, details: list[WireAccountDetail], streams: int, consumers: int) -> Account:
    usage = AccountUsage(
        tier="",
        storage_used=_most(detail.storage for detail in details),
        storage_limit=_agreed_limit(detail.reserved_storage for detail in details),
        memory_used=_most(detail.memory for detail in details),
        memory_limit=_agreed_limit(detail.reserved_memory for detail in details),
        streams=streams,
        consumers=consumers,
        storage_unlimited=_unlimited([detail.reserved_storage for detail in details]),
        memory_unlimited=_unlimited([detail.reserved_memory for detail in details]),
    )
    return Account(
        name=name,
        usage=(usage,),
        api_requests=max((detail.api.total for detail in details if detail.api), default=None),
        api_errors=max((detail.api.errors for detail in details if detail.api), default=None),
    )


def _unlimited(values: Sequence[int]) -> bool | None:
    """None when no server reports it: a tiered account shows 0."""
    reported = [value for value in values if value]
    return None if not reported else all(limit(value) is None for value in reported)


def _most(values: Iterable[int]) -> int | None:
    """Of what every server reports; without the huge numbers that stand for a negative sum."""
    return max((known for value in values if (known := limit(value)) is not None), default=None)


def _agreed_limit(values: Iterable[int]) -> int | None:
    """Every server reports the limit; a tiered account shows 0, which means no limit."""
    return _most(value for value in values if value)
