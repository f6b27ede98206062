"""What one poll of one NATS system found: plain frozen values, no server spelling left.

None means unlimited, unknown or not asked; -1 and 2**64-1 do not exist here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from exporter.subscription_counts import SubscriptionCounts

# gc=False: none of these can be part of a reference cycle, and 100,000 of them would otherwise
# make every full collection of the interpreter a pause that a scrape could feel.


class Replica(Struct, frozen=True, gc=False):
    """One peer of a Raft group, as the leader of that group sees it."""

    server: str
    lag: int
    offline: bool
    active_seconds: float | None


class StreamOrigin(Struct, frozen=True, gc=False):
    """A mirror's or a source's upstream."""

    name: str
    lag: int
    active_seconds: float | None  # None: never heard of
    error: str  # "" when there is none


class Thresholds(Struct, frozen=True, gc=False):
    """Limits that the owner wrote into the asset's metadata (io.nats.monitor.*)."""

    limits: tuple[tuple[str, float], ...] = ()
    unreadable: tuple[str, ...] = ()

    def limit(self, name: str) -> float | None:
        return next((value for known, value in self.limits if known == name), None)


NO_THRESHOLDS = Thresholds()


class OwnerNotes(Struct, frozen=True, gc=False):
    """What the owner wrote for the audit into the asset's metadata (io.streamgauge.*)."""

    ignore: tuple[str, ...] = ()  # codes of checks that are not to be told of this asset
    publish_retry_horizon: float | None = None  # seconds that its publishers try again for
    unreadable: tuple[str, ...] = ()


NO_NOTES = OwnerNotes()


class StreamConfig(Struct, frozen=True, gc=False):
    retention: str
    discard: str
    storage: str
    compression: str
    kind: str  # stream, kv or object
    replicas: int
    mirror: str
    sourced: bool
    subjects: tuple[str, ...]
    max_bytes: int | None
    max_messages: int | None
    max_messages_per_subject: int | None
    max_consumers: int | None
    max_age_seconds: float | None
    duplicate_window_seconds: float | None
    thresholds: Thresholds
    message_ttl: bool = False  # single messages may expire before their time
    delete_markers: bool = False  # the server adds a message where one expired
    schedules: bool = False  # the server adds the messages that it was asked to send later
    atomic: bool = False  # a batch waits for its last message before any of it is stored
    no_ack: bool = False  # publishes are not answered
    allow_direct: bool = False  # every copy may be asked for a message
    sealed: bool = False
    sources: int = 0  # how many other streams it takes messages from
    discard_new_per_subject: bool = False
    republish: bool = False
    transformed: bool = False  # stored subjects may differ from the published ones
    notes: OwnerNotes = NO_NOTES


class ConsumerConfig(Struct, frozen=True, gc=False):
    durable: bool
    kind: str  # pull or push
    ack_policy: str
    deliver_policy: str
    replay_policy: str
    filters: tuple[str, ...]
    priority_policy: str
    flow_control: bool
    internal: bool  # a direct, sourcing or flow-control consumer that the server made for itself
    replicas: int
    ack_wait_seconds: float | None
    max_deliver: int | None
    max_ack_pending: int | None
    max_waiting: int | None
    backoff_seconds: tuple[float, ...]
    thresholds: Thresholds
    inactive_threshold_seconds: float | None = None  # the server deletes it after so long unused
    memory_storage: bool = False  # its state is kept in memory although the stream is on disk
    deliver_group: str = ""
    idle_heartbeat_seconds: float | None = None
    sample_percent: float | None = None  # of acks whose time is told in an advisory
    max_batch: int | None = None  # most messages of one pull request
    rate_limit_bits: int | None = None  # bits per second, push only
    notes: OwnerNotes = NO_NOTES

    @property
    def retry_horizon_seconds(self) -> float | None:
        """How long the server goes on trying: the waits before the last delivery, added up."""
        if self.max_deliver is None or self.ack_wait_seconds is None:
            return None
        waits = self.max_deliver - 1
        steps = self.backoff_seconds or (self.ack_wait_seconds,)
        return sum(steps[:waits]) + max(0, waits - len(steps)) * steps[-1]


class Stream(Struct, frozen=True, gc=False):
    account: str
    name: str
    up: bool  # its own leader answered this poll; else nothing but identity and config is known
    reason: str  # why it is not up, "" when it is
    leader: str
    raft_group: str
    config: StreamConfig | None
    created: datetime | None = None
    messages: int = 0
    bytes: int = 0
    first_seq: int = 0
    last_seq: int = 0
    first_time: datetime | None = None
    last_time: datetime | None = None
    subjects: int = 0
    consumers: int = 0
    deleted: int = 0
    lost: int = 0
    replicas: tuple[Replica, ...] = ()
    origins: tuple[StreamOrigin, ...] = ()
    follower_messages: tuple[tuple[str, int], ...] = ()
    hosts: tuple[str, ...] = ()  # every server known to hold a copy


class Consumer(Struct, frozen=True, gc=False):
    account: str
    stream: str
    name: str
    up: bool
    reason: str
    leader: str
    config: ConsumerConfig | None
    created: datetime | None = None
    delivered_consumer_seq: int = 0
    delivered_stream_seq: int = 0
    ack_floor_consumer_seq: int = 0
    ack_floor_stream_seq: int = 0
    num_pending: int = 0
    num_ack_pending: int = 0
    num_redelivered: int = 0
    num_waiting: int = 0
    last_delivery: datetime | None = None
    last_ack: datetime | None = None
    paused: bool = False
    pause_remaining_seconds: float | None = None
    push_bound: bool = False
    replicas: tuple[Replica, ...] = ()
    stream_first_seq: int = 0  # first_seq of its stream, as the same server said it
    hosts: tuple[str, ...] = ()  # who held it, once its leader no longer answers


class ClockEstimate(Struct, frozen=True, gc=False):
    offset_seconds: float  # server clock minus exporter clock
    uncertainty_seconds: float
    round_trip_seconds: float


class ServerSettings(Struct, frozen=True, gc=False):
    """What a server says of its own configuration (VARZ)."""

    auth_required: bool
    tls_required: bool
    tls_expires: datetime | None = None  # of its certificate; told since 2.12
    max_payload: int | None = None


class Server(Struct, frozen=True, gc=False):
    name: str
    id: str
    up: bool
    host: str = ""
    version: str = ""
    cluster: str = ""
    domain: str = ""
    jetstream: bool = False
    api_level: int | None = None
    start: datetime | None = None
    process_memory_bytes: int | None = None
    cpu_ratio: float | None = None
    slow_consumers: int | None = None
    storage_used: int | None = None
    storage_reserved: int | None = None
    storage_max: int | None = None
    memory_used: int | None = None
    memory_reserved: int | None = None
    memory_max: int | None = None
    ha_assets: int | None = None
    stream_leaders: int | None = None
    consumer_leaders: int | None = None
    api_requests: int | None = None
    api_errors: int | None = None
    api_inflight: int | None = None
    healthy: bool | None = None
    health_detail: str = ""
    clock: ClockEstimate | None = None
    meta_leader: bool | None = None  # None: not part of a cluster's meta group, or not known
    meta_leader_seen: str | None = None  # whom it holds for the leader; "" for nobody
    sync_always: bool | None = None  # every write waits for the disk; told since 2.10
    sync_interval_seconds: float | None = None  # else the disk is waited for so often
    settings: ServerSettings | None = None  # None: not asked, or not allowed to


class AccountUsage(Struct, frozen=True, gc=False):
    tier: str  # "" when the account has no tiers
    storage_used: int | None = None
    storage_reserved: int | None = None
    storage_limit: int | None = None
    memory_used: int | None = None
    memory_reserved: int | None = None
    memory_limit: int | None = None
    streams: int | None = None
    streams_limit: int | None = None
    consumers: int | None = None
    consumers_limit: int | None = None
    # A limit of None may also be one that nobody told.
    storage_unlimited: bool | None = None
    memory_unlimited: bool | None = None


class Account(Struct, frozen=True, gc=False):
    name: str
    usage: tuple[AccountUsage, ...] = ()
    api_requests: int | None = None
    api_errors: int | None = None
    slow_consumers: tuple[tuple[str, int], ...] = ()  # by server


class MetaGroup(Struct, frozen=True, gc=False):
    leader: str  # "" while there is none
    size: int | None = None
    pending: int | None = None
    snapshot_seconds: float | None = None
    replicas: tuple[Replica, ...] = ()


class Outcome(Struct, frozen=True, gc=False):
    """How one request of this poll went."""

    request: str
    ok: bool
    seconds: float
    reason: str = ""
    detail: str = ""


class Skipped(Struct, frozen=True, gc=False):
    """A request that was left out on purpose, and why."""

    request: str
    reason: str


class Fault(Struct, frozen=True, gc=False):
    """Something in an answer that could not be used, although the request succeeded."""

    request: str
    reason: str
    count: int
    detail: str = ""


class Snapshot(Struct, frozen=True):
    system: str
    taken: float  # exporter clock, when the poll ended
    streams: tuple[Stream, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    servers: tuple[Server, ...] = ()
    accounts: tuple[Account, ...] = ()
    meta: MetaGroup | None = None
    outcomes: tuple[Outcome, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    faults: tuple[Fault, ...] = ()
    servers_expected: int | None = None
    servers_responding: int | None = None
    complete: bool = True  # every request of this poll was answered in full
    subscriptions: SubscriptionCounts | None = None  # read just before the rows; not every poll
    own_account: str = ""  # of a source that sees one account only
    # What accounts are called, by the word that the system account's events name them with.
    account_names: Mapping[str, str] = field(default_factory=dict)
