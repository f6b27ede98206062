"""Responses of many servers -> one snapshot; shared by the system and monitor sources."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

import msgspec

from exporter.model import Account, Consumer, Fault, Skipped, Snapshot, Stream
from exporter.signals.clock import ClockState
from exporter.sources.api_counters import ApiCounters
from exporter.sources.decoding.server_decode import (
    ServerResponses,
    decode_accounts,
    decode_meta,
    decode_servers,
)
from exporter.sources.decoding.wire_servers import WireHealth
from exporter.sources.filters import Filters
from exporter.sources.request_context import RequestContext
from exporter.sources.servers.known_rows import KnownRows
from exporter.sources.servers.leaders import ConfigCache, LeaderRows
from exporter.sources.servers.registry import ServerRegistry
from exporter.sources.servers.silent_assets import SilentAssets
from exporter.sources.servers.startup import StartupCache
from exporter.sources.subsz.counts import account_id
from exporter.sources.subsz.publish_counts import PublishCounting, PublishOptions

# New names make the configuration due early, but not more often than this.
_EARLIEST_CONFIG_SECONDS = 20.0
# Share of the remaining time of a poll: without configuration there is still time for the state.
CONFIG_SHARE_OF_TIME = 0.6
# Configuration that fails for one of these reasons is requested again after its interval.
RETRY_LATER = frozenset({"timeout", "partial", "malformed"})


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of every source."""

    system: str
    filters: Filters = field(default_factory=Filters)
    account: str | None = None
    domain: str | None = None
    expected_servers: int | None = None
    config_interval: float = 60.0
    config_ceiling: int = 100_000
    health_interval: float = 60.0
    remember_seconds: float = 3600.0
    concurrency: int = 12
    max_response_bytes: int = 1024**3
    publishes: PublishOptions = field(default_factory=PublishOptions)
    read_settings: bool = False  # request the servers' own configuration, for the audit
    account_traffic: bool = False  # request the connections and traffic of accounts
    metadata_keys: tuple[str, ...] = ()  # to keep of the metadata of streams and consumers


@dataclass(slots=True)
class ServersState:
    """The state of such a source between polls."""

    options: SourceOptions
    clocks: ClockState = field(default_factory=ClockState)
    configs: ConfigCache = field(init=False)
    rows: KnownRows = field(default_factory=KnownRows)
    health: dict[str, WireHealth] = field(default_factory=dict)  # by server name
    servers: ServerRegistry = field(init=False)
    silent: SilentAssets = field(init=False)
    startups: StartupCache = field(default_factory=StartupCache)
    api_counters: ApiCounters = field(default_factory=ApiCounters)
    publishes: PublishCounting = field(init=False)
    consumers: int = 0  # in the last snapshot
    other_domain_servers: int = 0  # servers of another JetStream domain that responded
    _config_read: float = float("-inf")
    _config_retry_at: float = float("-inf")  # not requested before this time
    _health_read: float = float("-inf")

    def __post_init__(self) -> None:
        self.configs = ConfigCache(self.options.metadata_keys)
        self.servers = ServerRegistry(self.options.remember_seconds, self.options.expected_servers)
        self.silent = SilentAssets(self.options.remember_seconds)
        self.publishes = PublishCounting(self.options.system, self.options.publishes)

    @property
    def over_ceiling(self) -> bool:
        """Whether fetching all configuration could make publishers wait."""
        return self.consumers > self.options.config_ceiling

    @property
    def config_known(self) -> bool:
        """Of at least one server; the necessary page size is known then."""
        return bool(self.configs.streams) or self._config_read != float("-inf")

    @property
    def may_count_publishes(self) -> bool:
        return self.config_known or self.options.publishes.at_every_poll

    def config_due(self, now: float) -> bool:
        age = now - self._config_read
        if now < self._config_retry_at:
            return False
        if self.over_ceiling and age != float("inf"):
            return False  # only once, at the start
        due_early = self.configs.unknown and age >= _EARLIEST_CONFIG_SECONDS
        return due_early or age >= self.options.config_interval

    def config_read(self, now: float) -> None:
        self._config_read = now
        self.configs.unknown.clear()

    def config_failed(self, now: float) -> None:
        """Waits an interval: at every poll it would take the time of the smaller request."""
        self._config_retry_at = now + self.options.config_interval

    def health_due(self, now: float) -> bool:
        return now - self._health_read >= self.options.health_interval

    def health_read(self, now: float) -> None:
        self._health_read = now

    def empty_snapshot(self, context: RequestContext) -> Snapshot:
        """Without any response: only the known servers, all down."""
        now = time.time()
        return Snapshot(
            system=self.options.system,
            taken=now,
            servers=self.servers.with_silent(now, ()),
            outcomes=tuple(context.outcomes),
            skipped=context.skipped_requests.skipped(time.monotonic()),
            servers_expected=self.servers.expected(),
            servers_responding=0,
            complete=False,
        )


def read_rows(state: ServersState, responses: list[ServerResponses]) -> LeaderRows:
    """CPU-heavy: runs in a thread, as `build_snapshot` does."""
    for response in responses:
        response.health = state.health.get(response.server.name)
    starting = state.startups.starting(responses)
    for response in responses:
        if response.server.name in starting:
            response.jsz.clear()
    without_jsz = frozenset(
        response.server.name for response in responses if not response.lists_all
    )
    state.rows.start_poll(state.configs.changes)
    rows = LeaderRows(state.configs, state.options.filters, state.rows, without_jsz, starting)
    for response in sorted(responses, key=lambda response: response.server.name):
        for page in response.jsz:
            if page.limits and page.limits.default_max_consumers > 0:
                state.configs.default_max_consumers = page.limits.default_max_consumers
        rows.add(
            response.server.name,
            response.account_details(),
            response.api_level,
            response.settled_before,
        )
    return rows


def build_snapshot(
    state: ServersState,
    context: RequestContext,
    responses: list[ServerResponses],
    rows: LeaderRows,
) -> Snapshot:
    now, starting = time.time(), rows.starting
    streams, consumers = rows.streams(), rows.consumers()
    complete = context.succeeded("jsz_config")
    state.configs.forget_gone(streams, consumers, complete=complete)
    succeeded = decode_servers(responses, streams, consumers, state.clocks, now)
    servers = state.servers.with_silent(now, succeeded)
    down = starting | {server.name for server in servers if not server.up}
    without_streams = frozenset(
        response.server.name
        for response in responses
        if not response.lists_streams or response.jsz_incomplete
    )
    streams, consumers = state.silent.with_silent(
        now, streams, consumers, down, without_streams - down
    )
    streams = _with_all_consumers(streams, state.silent)
    state.consumers = len(consumers)
    expected = state.servers.expected()
    return Snapshot(
        system=state.options.system,
        taken=now,
        streams=streams,
        consumers=consumers,
        servers=servers,
        accounts=_wanted_accounts(state, responses, streams, consumers),
        meta=decode_meta(responses),
        outcomes=tuple(context.outcomes),
        faults=(
            *_other_domain_faults(state),
            *_starting_faults(starting),
            *unreadable_thresholds("jsz_config", streams, consumers),
        ),
        skipped=(
            *context.skipped_requests.skipped(time.monotonic()),
            *([Skipped("jsz_config", "ceiling")] if state.over_ceiling else []),
        ),
        servers_expected=expected,
        servers_responding=len(succeeded),
        complete=context.complete and len(succeeded) >= expected and not starting,
        account_names=_account_names(responses),
    )


def _account_names(responses: list[ServerResponses]) -> dict[str, str]:
    details = chain.from_iterable(response.account_details() for response in responses)
    return {account_id(account): account.name for account in details}


def _with_all_consumers(streams: tuple[Stream, ...], known: SilentAssets) -> tuple[Stream, ...]:
    """A stream's leader counts only the consumers on its own server."""
    if not any(row.replicas for row in streams):
        return streams
    seen = known.consumer_counts()
    return tuple(
        msgspec.structs.replace(row, consumers=seen[row.account, row.name])
        if row.up and seen[row.account, row.name] > row.consumers
        else row
        for row in streams
    )


def _wanted_accounts(
    state: ServersState,
    responses: list[ServerResponses],
    streams: tuple[Stream, ...],
    consumers: tuple[Consumer, ...],
) -> tuple[Account, ...]:
    wants = state.options.filters.accounts.wants
    found = decode_accounts(responses, streams, consumers, _account_names(responses))
    ids = frozenset(response.server.id for response in responses)
    return state.api_counters.risen(tuple(one for one in found if wants(one.name)), ids)


def _other_domain_faults(state: ServersState) -> tuple[Fault, ...]:
    if not state.other_domain_servers:
        return ()
    detail = "servers of another JetStream domain responded; a system is one domain"
    return (Fault("statsz", "other_domain", state.other_domain_servers, detail),)


def _starting_faults(servers: frozenset[str]) -> tuple[Fault, ...]:
    if not servers:
        return ()
    detail = "not read because they have just started: " + ", ".join(sorted(servers))
    return (Fault("jsz", "partial", len(servers), detail),)


def unreadable_thresholds(
    request: str, streams: tuple[Stream, ...], consumers: tuple[Consumer, ...]
) -> tuple[Fault, ...]:
    configured: Iterable[Stream | Consumer] = chain(streams, consumers)
    names = [
        f"{row.name}: {key}"
        for row in configured
        if row.config is not None
        for key in (
            *row.config.thresholds.unreadable,
            *row.config.notes.unreadable,
            *row.config.notes.unknown,
        )
    ]
    return (Fault(request, "threshold", len(names), names[0]),) if names else ()
