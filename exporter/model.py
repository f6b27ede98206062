"""The snapshot of one poll: frozen values, independent of the server's field names.

None means unlimited, unknown or not requested; -1 and 2**64-1 do not occur.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from exporter.idle_schedule import IdleSchedule
from exporter.subscription_counts import SubscriptionCounts

# gc=False: these cannot be part of a reference cycle. 100,000 tracked objects would make every full
# garbage collection a pause that delays scrapes.


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
    active_seconds: float | None  # None: never active
    error: str  # "" when there is none


class Thresholds(Struct, frozen=True, gc=False):
    """Limits that the owner set in the asset's metadata (io.nats.monitor.*)."""

    limits: tuple[tuple[str, float], ...] = ()
    unreadable: tuple[str, ...] = ()

    def limit(self, name: str) -> float | None:
        return next((value for known, value in self.limits if known == name), None)


NO_THRESHOLDS = Thresholds()


class OwnerNotes(Struct, frozen=True, gc=False):
    """What the owner declares in the asset's metadata (io.streamgauge.*)."""

    owner: str = ""
    team: str = ""
    severity: str = ""  # the highest severity of alerts about this asset
    ignore: tuple[str, ...] = ()  # codes of checks and names of alerts to suppress, or "all"
    long_jobs: float | None = None  # seconds that one message may take
    idle_schedule: IdleSchedule | None = None
    back_pressure: bool = False  # a full stream that discards new messages is intended
    idempotent_writers: bool = False  # duplicates and conflicts are intended
    publish_retry_horizon: float | None = None  # seconds that its publishers retry
    unreadable: tuple[str, ...] = ()  # keys with an invalid value
    unknown: tuple[str, ...] = ()  # keys that this kind of asset does not have


NO_NOTES = OwnerNotes()


# Keys that the settings name, with their values; None where the text cannot be a label.
ChosenMetadata = tuple[tuple[str, str | None], ...]


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
    message_ttl: bool = False  # single messages may expire before max_age
    delete_markers: bool = False  # the server adds a message where one expired
    schedules: bool = False  # the server adds scheduled messages
    atomic: bool = False  # a batch is stored when its last message arrives
    no_ack: bool = False  # publishes get no ack
    allow_direct: bool = False  # every replica may serve a message
    sealed: bool = False
    sources: int = 0  # number of source streams
    discard_new_per_subject: bool = False
    republish: bool = False
    transformed: bool = False  # stored subjects may differ from the published ones
    notes: OwnerNotes = NO_NOTES
    metadata: ChosenMetadata = ()


class ConsumerConfig(Struct, frozen=True, gc=False):
    durable: bool
    kind: str  # pull or push
    ack_policy: str
    deliver_policy: str
    replay_policy: str
    filters: tuple[str, ...]
    priority_policy: str
    flow_control: bool
    internal: bool  # created by the server: direct, sourcing or flow-control
    replicas: int
    ack_wait_seconds: float | None
    max_deliver: int | None
    max_ack_pending: int | None
    max_waiting: int | None
    backoff_seconds: tuple[float, ...]
    thresholds: Thresholds
    inactive_threshold_seconds: float | None = (
        None  # the server deletes it after this time without use
    )
    memory_storage: bool = False  # its state is in memory although the stream is on disk
    deliver_group: str = ""
    idle_heartbeat_seconds: float | None = None
    sample_percent: float | None = None  # of acks that the server samples in advisories
    max_batch: int | None = None  # maximum messages of one pull request
    rate_limit_bits: int | None = None  # bits per second, push only
    notes: OwnerNotes = NO_NOTES
    metadata: ChosenMetadata = ()

    @property
    def retry_horizon_seconds(self) -> float | None:
        """Sum of the waits before the last delivery: how long the server retries."""
        if self.max_deliver is None or self.ack_wait_seconds is None:
            return None
        waits = self.max_deliver - 1
        steps = self.backoff_seconds or (self.ack_wait_seconds,)
        return sum(steps[:waits]) + max(0, waits - len(steps)) * steps[-1]


MALFORMED = "malformed"
"""The reason of an asset whose row could not be decoded: whether it is up is unknown."""


class Stream(Struct, frozen=True, gc=False):
    account: str
    name: str
    up: bool  # its leader responded in this poll; else only identity and config are known
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
    hosts: tuple[str, ...] = ()  # every server known to hold a replica
    last_stored: datetime | None = None  # the last message's time, also when it is gone


class SubjectCounts(Struct, frozen=True, gc=False):
    """Messages of a stream by subject, those with the most first."""

    top: tuple[tuple[str, int], ...]
    hidden: int  # subjects that match and are not in `top`


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
    stream_first_seq: int = 0  # first_seq of its stream, from the same server
    hosts: tuple[str, ...] = ()  # its servers, when its leader does not respond


class ClockEstimate(Struct, frozen=True, gc=False):
    offset_seconds: float  # server clock minus exporter clock
    uncertainty_seconds: float
    round_trip_seconds: float


class ServerSettings(Struct, frozen=True, gc=False):
    """Configuration of a server, from VARZ."""

    auth_required: bool
    tls_required: bool
    tls_expires: datetime | None = None  # of its certificate; reported since 2.12
    max_payload: int | None = None


class Traffic(Struct, frozen=True, gc=False):
    """Since the server started; clients, routes, gateways and leaf nodes together."""

    received_messages: int
    received_bytes: int
    sent_messages: int
    sent_bytes: int


class ServerNetwork(Struct, frozen=True, gc=False):
    connections: int
    connections_opened: int
    subscriptions: int
    traffic: Traffic
    routes: int
    gateways: int | None = None  # not in VARZ


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
    network: ServerNetwork | None = None
    leaf_nodes: int | None = None
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
    meta_leader_seen: str | None = None  # the leader that it knows; "" for none
    sync_always: bool | None = None  # every write waits for the disk; reported since 2.10
    sync_interval_seconds: float | None = None  # else the interval of disk syncs
    settings: ServerSettings | None = None  # None: not requested, or not permitted


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
    # A limit of None may also be unknown.
    storage_unlimited: bool | None = None
    memory_unlimited: bool | None = None


class AccountOnServer(Struct, frozen=True, gc=False):
    """What one server reports of an account's connections to it."""

    server: str
    connections: int
    leaf_nodes: int
    traffic: Traffic
    slow_consumers: int
    subscriptions: int | None = None  # not reported before 2.10


class Account(Struct, frozen=True, gc=False):
    name: str
    usage: tuple[AccountUsage, ...] = ()
    api_requests: int | None = None
    api_errors: int | None = None
    servers: tuple[AccountOnServer, ...] = ()


class MetaGroup(Struct, frozen=True, gc=False):
    leader: str  # "" while there is none
    size: int | None = None
    pending: int | None = None
    snapshot_seconds: float | None = None
    replicas: tuple[Replica, ...] = ()


class Outcome(Struct, frozen=True, gc=False):
    """The outcome of one request of this poll."""

    request: str
    ok: bool
    seconds: float
    reason: str = ""
    detail: str = ""


class Skipped(Struct, frozen=True, gc=False):
    """A request that was skipped on purpose, and why."""

    request: str
    reason: str


class Fault(Struct, frozen=True, gc=False):
    """An unusable part of a response, although the request succeeded."""

    request: str
    reason: str
    count: int
    detail: str = ""


UNNAMED = "nats"
"""The system name of last resort."""


class Snapshot(Struct, frozen=True):
    system: str
    taken: float  # exporter clock, at the end of the poll
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
    complete: bool = True  # every request of this poll got a complete response
    subscriptions: SubscriptionCounts | None = (
        None  # requested just before the rows; not in every poll
    )
    own_account: str = ""  # for a source that sees only one account
    # Account names by the account id in events of the system account.
    account_names: Mapping[str, str] = field(default_factory=dict)
