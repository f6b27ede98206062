"""Responses of NATS servers 2.9 to 2.15 as structs; every field may be missing.

Only fields that the decoder needs are declared; msgspec ignores the others.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct, field

_HIGHEST = 2**63 - 1
Count = Annotated[int, Meta(ge=0, le=_HIGHEST)]
"""A negative count, also one that the server wrote as a huge unsigned number, makes its row malformed."""
Unsigned = Annotated[int, Meta(ge=0)]
Nanoseconds = Annotated[int, Meta(ge=-_HIGHEST, le=_HIGHEST)]


class WireSequence(Struct, gc=False):
    consumer_seq: Count = 0
    stream_seq: Count = 0
    last_active: datetime | None = None


class WirePeer(Struct, gc=False):
    name: str = ""
    current: bool = False
    offline: bool = False
    active: Nanoseconds = 0
    lag: Unsigned = 0


class WireCluster(Struct, gc=False):
    name: str = ""
    leader: str = ""
    raft_group: str = ""
    leader_since: datetime | None = None
    replicas: list[WirePeer] = field(default_factory=list)


class WireConsumerConfig(Struct, gc=False):
    durable_name: str = ""
    deliver_policy: str = ""
    ack_policy: str = ""
    ack_wait: Nanoseconds = 0
    max_deliver: int = 0
    backoff: list[Nanoseconds] = field(default_factory=list)
    filter_subject: str = ""
    filter_subjects: list[str] = field(default_factory=list)
    replay_policy: str = ""
    max_waiting: int = 0
    max_ack_pending: int = 0
    deliver_subject: str = ""
    flow_control: bool = False
    num_replicas: int = 0
    direct: bool = False
    sourcing: bool = False
    priority_policy: str = ""
    inactive_threshold: Nanoseconds = 0
    mem_storage: bool = False
    deliver_group: str = ""
    idle_heartbeat: Nanoseconds = 0
    sample_freq: str = ""
    max_batch: int = 0
    rate_limit_bps: int = 0
    metadata: dict[str, str] = field(default_factory=dict)


class WireConsumer(Struct, gc=False):
    name: str = ""
    stream_name: str = ""
    created: datetime | None = None
    config: WireConsumerConfig | None = None
    delivered: WireSequence = field(default_factory=WireSequence)
    ack_floor: WireSequence = field(default_factory=WireSequence)
    num_ack_pending: Count = 0
    num_redelivered: Count = 0
    num_waiting: Count = 0
    num_pending: Count = 0
    cluster: WireCluster | None = None
    push_bound: bool = False
    paused: bool = False
    pause_remaining: Nanoseconds = 0


class WireTransform(Struct, gc=False):
    src: str = ""
    dest: str = ""


class WireOriginConfig(Struct, gc=False):
    name: str = ""
    subject_transforms: list[WireTransform] | None = None


class WireRepublish(Struct, gc=False):
    dest: str = ""


class WireStreamConfig(Struct, gc=False):
    name: str = ""
    subjects: list[str] = field(default_factory=list)
    retention: str = ""
    max_consumers: int = 0
    max_msgs: int = 0
    max_bytes: int = 0
    max_age: Nanoseconds = 0
    max_msgs_per_subject: int = 0
    discard: str = ""
    storage: str = ""
    num_replicas: int = 0
    duplicate_window: Nanoseconds = 0
    allow_msg_ttl: bool = False
    subject_delete_marker_ttl: Nanoseconds = 0
    allow_msg_schedules: bool = False
    allow_atomic: bool = False
    no_ack: bool = False
    allow_direct: bool = False
    compression: str = ""
    sealed: bool = False
    discard_new_per_subject: bool = False
    republish: WireRepublish | None = None
    subject_transform: WireTransform | None = None
    mirror: WireOriginConfig | None = None
    sources: list[WireOriginConfig] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)


class WireLost(Struct, gc=False):
    msgs: list[int] | None = None


class WireState(Struct, gc=False):
    messages: Count = 0
    bytes: Count = 0
    first_seq: Count = 0
    first_ts: datetime | None = None
    last_seq: Count = 0
    last_ts: datetime | None = None
    num_subjects: Count = 0
    num_deleted: Count = 0
    consumer_count: Count = 0
    lost: WireLost | None = None


class WireApiError(Struct, gc=False):
    code: int = 0
    err_code: int = 0
    description: str = ""


class WireOrigin(Struct, gc=False):
    name: str = ""
    lag: Unsigned = 0
    active: Nanoseconds = 0
    error: WireApiError | None = None


class WireStream(Struct, gc=False):
    """A stream as STREAM.LIST and STREAM.INFO give it (name in config) and as JSZ does (name)."""

    name: str = ""
    created: datetime | None = None
    config: WireStreamConfig | None = None
    state: WireState = field(default_factory=WireState)
    cluster: WireCluster | None = None
    mirror: WireOrigin | None = None
    sources: list[WireOrigin] | None = None
    consumer_detail: list[WireConsumer] | None = None
    error: WireApiError | None = None  # an INFO response may contain nothing else


class WireApiStats(Struct, gc=False):
    level: int | None = None
    total: Unsigned = 0
    errors: Unsigned = 0
    inflight: Unsigned = 0


class WireSnapshotStats(Struct, gc=False):
    last_duration: Nanoseconds = 0


class WireMeta(Struct, gc=False):
    name: str = ""
    leader: str = ""
    cluster_size: Unsigned = 0
    pending: int | None = None
    replicas: list[WirePeer] | None = None
    snapshot: WireSnapshotStats | None = None


class WireJsConfig(Struct, gc=False):
    max_memory: int = 0
    max_storage: int = 0
    domain: str = ""
    sync_interval: Nanoseconds = 0
    sync_always: bool = False


class WireJsStats(Struct, gc=False):
    memory: Unsigned = 0
    storage: Unsigned = 0
    reserved_memory: Unsigned = 0
    reserved_storage: Unsigned = 0
    ha_assets: Unsigned = 0
    api: WireApiStats = field(default_factory=WireApiStats)


class WireJetStream(Struct, gc=False):
    """The `jetstream` part of STATSZ and VARZ."""

    config: WireJsConfig | None = None
    stats: WireJsStats | None = None
    meta: WireMeta | None = None


class WireAccountDetail(Struct, gc=False):
    name: str = ""
    id: str = ""
    memory: Unsigned = 0
    storage: Unsigned = 0
    reserved_memory: int = 0
    reserved_storage: int = 0
    api: WireApiStats = field(default_factory=WireApiStats)
    stream_detail: list[WireStream] | None = None


class WireJsLimits(Struct, gc=False):
    default_max_consumers: int = 0


class WireJsz(Struct, gc=False):
    disabled: bool = False
    now: datetime | None = None
    api: WireApiStats = field(default_factory=WireApiStats)
    config: WireJsConfig | None = None
    limits: WireJsLimits | None = None
    meta_cluster: WireMeta | None = None
    account_details: list[WireAccountDetail] | None = None
    total: int = 0
    accounts: int = 0

    @property
    def account_total(self) -> int:
        """The number of accounts; before 2.11 only `accounts` reports it."""
        return self.total or self.accounts


class WireServer(Struct, gc=False):
    """The header of every response of the system account."""

    name: str = ""
    id: str = ""
    host: str = ""
    ver: str = ""
    cluster: str = ""
    domain: str = ""
    jetstream: bool = False
    time: datetime | None = None


class WireSystemError(Struct, gc=False):
    code: int = 0
    description: str = ""


class WireJszResponse(Struct, gc=False):
    server: WireServer = field(default_factory=WireServer)
    data: WireJsz | None = None
    error: WireSystemError | None = None


class WireTraffic(Struct, gc=False):
    msgs: Unsigned = 0
    bytes: Unsigned = 0


class WireLink(Struct, gc=False):
    """A route or an outbound gateway; only their number counts."""

    name: str = ""


class WireStats(Struct, gc=False):
    """The fields that STATSZ and VARZ share."""

    start: datetime | None = None
    mem: Unsigned = 0
    cores: Unsigned = 0
    cpu: float = 0.0
    connections: Unsigned = 0
    total_connections: Unsigned = 0
    subscriptions: Unsigned = 0
    slow_consumers: Unsigned = 0
    jetstream: WireJetStream | None = None


class WireStatsz(WireStats, gc=False):
    sent: WireTraffic = field(default_factory=WireTraffic)
    received: WireTraffic = field(default_factory=WireTraffic)
    routes: list[WireLink] | None = None
    gateways: list[WireLink] | None = None


class WireStatszResponse(Struct, gc=False):
    server: WireServer = field(default_factory=WireServer)
    statsz: WireStatsz = field(default_factory=WireStatsz)


class WireVarzCluster(Struct, gc=False):
    name: str = ""


class WireVarz(WireStats, gc=False):
    server_id: str = ""
    server_name: str = ""
    version: str = ""
    now: datetime | None = None
    cluster: WireVarzCluster | None = None
    in_msgs: Unsigned = 0
    in_bytes: Unsigned = 0
    out_msgs: Unsigned = 0
    out_bytes: Unsigned = 0
    routes: Unsigned = 0
    leafnodes: Unsigned = 0
    auth_required: bool = False  # absent when false
    tls_required: bool = False
    tls_cert_not_after: datetime | None = None
    max_payload: int = 0


class WireVarzResponse(Struct, gc=False):
    server: WireServer = field(default_factory=WireServer)
    data: WireVarz | None = None
    error: WireSystemError | None = None


class WireHealth(Struct, gc=False):
    status: str = ""
    error: str = ""


class WireHealthResponse(Struct, gc=False):
    server: WireServer = field(default_factory=WireServer)
    data: WireHealth | None = None
    error: WireSystemError | None = None


class WireAccountStat(Struct, gc=False):
    acc: str = ""  # the account's key in operator mode
    name: str = ""  # reported since 2.11
    conns: Unsigned = 0
    leafnodes: Unsigned = 0
    num_subscriptions: int | None = None  # not reported before 2.10
    sent: WireTraffic = field(default_factory=WireTraffic)
    received: WireTraffic = field(default_factory=WireTraffic)
    slow_consumers: Unsigned = 0

    @property
    def used(self) -> bool:
        return bool(self.conns or self.leafnodes or self.received.msgs or self.sent.msgs)


class WireAccountStats(Struct, gc=False):
    account_statz: list[WireAccountStat] | None = None


class WireAccountStatzResponse(Struct, gc=False):
    server: WireServer = field(default_factory=WireServer)
    data: WireAccountStats | None = None
    error: WireSystemError | None = None


class WireUser(Struct, gc=False):
    account: str = ""
    account_name: str = ""


class WireUserInfo(Struct, gc=False):
    server: WireServer = field(default_factory=WireServer)
    data: WireUser | None = None
    error: WireSystemError | None = None


class WireLimits(Struct, gc=False):
    max_memory: int = -1
    max_storage: int = -1
    max_streams: int = -1
    max_consumers: int = -1


class WireUsage(Struct, gc=False):
    """An account's or a tier's usage."""

    memory: int = 0
    storage: int = 0
    reserved_memory: int | None = None  # not written before 2.10
    reserved_storage: int | None = None
    streams: int = 0
    consumers: int = 0
    limits: WireLimits = field(default_factory=WireLimits)


class WireAccountInfo(WireUsage, gc=False):
    api: WireApiStats = field(default_factory=WireApiStats)
    tiers: dict[str, WireUsage] | None = None
    domain: str = ""
    error: WireApiError | None = None


class WireStreamList(Struct, gc=False):
    total: int = 0
    offset: int = 0
    limit: int = 0
    streams: list[WireStream] | None = None
    missing: list[str] | None = None
    offline: dict[str, str] | None = None
    error: WireApiError | None = None


class WireConsumerList(Struct, gc=False):
    total: int = 0
    offset: int = 0
    limit: int = 0
    consumers: list[WireConsumer] | None = None
    missing: list[str] | None = None
    offline: dict[str, str] | None = None
    error: WireApiError | None = None


class WireConsumerInfo(WireConsumer, gc=False):
    error: WireApiError | None = None
