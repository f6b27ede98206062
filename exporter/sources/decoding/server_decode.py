"""What servers say of themselves -> servers, accounts and the meta group of the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from exporter.model import (
    Account,
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
    limit,
    peers,
    positive,
    seconds,
    version_numbers,
)
from exporter.sources.decoding.wire import (
    WireAccountDetail,
    WireHealth,
    WireJetStream,
    WireJsz,
    WireMeta,
    WireServer,
    WireStats,
)

_LEADER_SINCE_TOLD = (2, 11, 9)
_SYNC_TOLD = (2, 10)
# A consumer's new leader shows a backlog of 0 until it has counted; measured: for less than 0.1 s.
_SETTLING = timedelta(seconds=1)


@dataclass(slots=True)
class ServerResponses:
    """Everything that one server said in one poll."""

    server: WireServer
    stats: WireStats | None = None
    health: WireHealth | None = None
    jsz: list[WireJsz] = field(default_factory=list)  # one per page of accounts
    settings: ServerSettings | None = None

    @property
    def jetstream(self) -> WireJetStream | None:
        return self.stats.jetstream if self.stats else None

    @property
    def meta(self) -> WireMeta | None:
        spoken = [page.meta_cluster for page in self.jsz if page.meta_cluster]
        if spoken:
            return spoken[0]
        return self.jetstream.meta if self.jetstream else None

    @property
    def api_level(self) -> int | None:
        return self.jsz[0].api.level if self.jsz else None

    @property
    def settled_before(self) -> datetime | None:
        """Who leads a consumer since then has counted its backlog; None: this version cannot say."""
        now = self.jsz[0].now if self.jsz else None
        if now is None or version_numbers(self.server.ver) < _LEADER_SINCE_TOLD:
            return None
        return now - _SETTLING

    @property
    def lists_streams(self) -> bool:
        return any(detail.stream_detail for detail in self.account_details())

    def account_details(self) -> list[WireAccountDetail]:
        return [detail for page in self.jsz for detail in page.account_details or ()]


def fleet_servers(
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
        # Leaders are counted only where the server's own list of assets was read.
        led = (stream_leaders[name], consumer_leaders[name]) if response.jsz else (None, None)
        found.append(_server(response, led, clocks, now))
    return found


def _server(
    response: ServerResponses, led: tuple[int | None, int | None], clocks: ClockState, now: float
) -> Server:
    said, stats, js = response.server, response.stats, response.jetstream
    usage = js.stats if js else None
    limits = js.config if js else None
    meta = response.meta
    return Server(
        name=said.name,
        id=said.id,
        host=said.host,
        up=True,
        version=said.ver,
        cluster=said.cluster,
        domain=said.domain,
        jetstream=said.jetstream,
        api_level=usage.api.level if usage else None,
        start=stats.start if stats else None,
        process_memory_bytes=stats.mem if stats else None,
        cpu_ratio=stats.cpu / 100 / stats.cores if stats and stats.cores else None,
        slow_consumers=stats.slow_consumers if stats else None,
        storage_used=usage.storage if usage else None,
        storage_reserved=usage.reserved_storage if usage else None,
        storage_max=positive(limits.max_storage) if limits else None,
        memory_used=usage.memory if usage else None,
        memory_reserved=usage.reserved_memory if usage else None,
        memory_max=positive(limits.max_memory) if limits else None,
        ha_assets=usage.ha_assets if usage else None,
        stream_leaders=led[0],
        consumer_leaders=led[1],
        api_requests=usage.api.total if usage else None,
        api_errors=usage.api.errors if usage else None,
        api_inflight=usage.api.inflight if usage else None,
        healthy=response.health.status == "ok" if response.health else None,
        health_detail=response.health.error if response.health else "",
        clock=clocks.estimate(said.name, now),
        meta_leader=meta.leader == said.name if meta else None,
        meta_leader_seen=meta.leader if meta else None,
        sync_always=limits.sync_always if limits and _tells_sync(said) else None,
        sync_interval_seconds=seconds(limits.sync_interval) if limits else None,
        settings=response.settings,
    )


def _tells_sync(server: WireServer) -> bool:
    """Older servers have the same setting of their files and never say so."""
    return version_numbers(server.ver) >= _SYNC_TOLD


def fleet_meta(responses: Iterable[ServerResponses]) -> MetaGroup | None:
    """The meta group as its leader tells it; without a leader only that there is none."""
    told = [
        (response.server.name, response.meta) for response in responses if response.meta is not None
    ]
    if not told:
        return None
    for name, meta in told:
        if meta.leader and meta.leader == name:
            snapshot = meta.snapshot
            return MetaGroup(
                leader=meta.leader,
                size=positive(meta.cluster_size),
                pending=meta.pending,  # servers before 2.10 do not tell
                snapshot_seconds=snapshot.last_duration / NANOSECONDS_PER_SECOND
                if snapshot
                else None,
                replicas=peers(meta.replicas or []),
            )
    size = max(meta.cluster_size for _, meta in told)
    return MetaGroup(leader="", size=positive(size))


def fleet_accounts(
    responses: Iterable[ServerResponses],
    streams: tuple[Stream, ...],
    consumers: tuple[Consumer, ...],
) -> tuple[Account, ...]:
    """Every server repeats the usage of the whole system, some later than others: the most is true.

    What JSZ calls an account's reserve is its limit.
    """
    per_account: dict[str, list[WireAccountDetail]] = {}
    for response in responses:
        for detail in response.account_details():
            per_account.setdefault(detail.name, []).append(detail)
    stream_counts = Counter(row.account for row in streams)
    consumer_counts = Counter(row.account for row in consumers)
    return tuple(
        _account(name, details, stream_counts[name], consumer_counts[name])
        for name, details in per_account.items()
    )


def _account(name: str, details: list[WireAccountDetail], streams: int, consumers: int) -> Account:
    usage = AccountUsage(
        tier="",
        storage_used=max(detail.storage for detail in details),
        storage_limit=_agreed_limit(detail.reserved_storage for detail in details),
        memory_used=max(detail.memory for detail in details),
        memory_limit=_agreed_limit(detail.reserved_memory for detail in details),
        streams=streams,
        consumers=consumers,
        storage_unlimited=_unlimited([detail.reserved_storage for detail in details]),
        memory_unlimited=_unlimited([detail.reserved_memory for detail in details]),
    )
    return Account(
        name=name,
        usage=(usage,),
        api_requests=max(detail.api.total for detail in details),
        api_errors=max(detail.api.errors for detail in details),
    )


def _unlimited(values: Sequence[int]) -> bool | None:
    """None where no server said either: a tiered account shows 0."""
    spoken = [value for value in values if value]
    return None if not spoken else all(limit(value) is None for value in spoken)


def _agreed_limit(values: Iterable[int]) -> int | None:
    """Every server repeats the limit; a tiered account shows 0 there, which is no limit at all."""
    return max((known for value in values if (known := limit(value))), default=None)
