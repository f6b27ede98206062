"""Responses of the system account and the monitoring port, servers 2.9 to 2.15, as structs."""

from __future__ import annotations

from msgspec import Struct, field

from exporter.sources.decoding.wire import (
    Count,
    Nanoseconds,
    Signed,
    Time,
    Unbounded,
    WireApiStats,
    WirePeer,
    WireStream,
)


class WireSnapshotStats(Struct, gc=False):
    last_duration: Nanoseconds = 0


class WireMeta(Struct, gc=False):
    name: str = ""
    leader: str = ""
    cluster_size: Count = 0
    pending: Signed | None = None
    replicas: list[WirePeer] | None = None
    snapshot: WireSnapshotStats | None = None


class WireJsConfig(Struct, gc=False):
    max_memory: Signed = 0
    max_storage: Signed = 0
    domain: str = ""
    sync_interval: Nanoseconds = 0
    sync_always: bool = False


class WireJsStats(Struct, gc=False):
    memory: Unbounded = 0
    storage: Unbounded = 0
    reserved_memory: Unbounded = 0
    reserved_storage: Unbounded = 0
    ha_assets: Count = 0
    api: WireApiStats = field(default_factory=WireApiStats)


class WireJetStream(Struct, gc=False):
    """The `jetstream` part of STATSZ and VARZ."""

    config: WireJsConfig | None = None
    stats: WireJsStats | None = None
    meta: WireMeta | None = None


class WireAccountDetail(Struct, gc=False):
    name: str = ""
    id: str = ""
    memory: Unbounded = 0
    storage: Unbounded = 0
    reserved_memory: Unbounded = 0
    reserved_storage: Unbounded = 0
    api: WireApiStats | None = field(default_factory=WireApiStats)  # None: malformed
    stream_detail: list[WireStream] | None = None


class WireJsLimits(Struct, gc=False):
    default_max_consumers: Signed = 0


class WireJsz(Struct, gc=False):
    disabled: bool = False
    now: Time | None = None
    api: WireApiStats | None = None
    config: WireJsConfig | None = None
    limits: WireJsLimits | None = None
    meta_cluster: WireMeta | None = None
    account_details: list[WireAccountDetail] | None = None
    total: Unbounded = 0
    accounts: Unbounded = 0

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
    time: Time | None = None


class WireSystemError(Struct, gc=False):
    code: Signed = 0
    description: str = ""


class WireJszResponse(Struct, gc=False):
    server: WireServer = field(default_factory=WireServer)
    data: WireJsz | None = None
    error: WireSystemError | None = None


class WireTraffic(Struct, gc=False):
    msgs: Count = 0
    bytes: Count = 0


class WireLink(Struct, gc=False):
    """A route or an outbound gateway; only their number counts."""

    name: str = ""


class WireStats(Struct, gc=False):
    """The fields that STATSZ and VARZ share."""

    start: Time | None = None
    mem: Count = 0
    cores: Count = 0
    cpu: float = 0.0
    connections: Count = 0
    total_connections: Count = 0
    subscriptions: Count = 0
    slow_consumers: Count = 0
    jetstream: WireJetStream | None = None


class WireStatsz(WireStats, gc=False):
    sent: WireTraffic = field(default_factory=WireTraffic)
    received: WireTraffic = field(default_factory=WireTraffic)
    routes: list[WireLink] | None = None
    gateways: list[WireLink] | None = None


class WireStatszResponse(Struct, gc=False):
    server: WireServer = field(default_factory=WireServer)
    statsz: WireStatsz | None = None


class WireVarzCluster(Struct, gc=False):
    name: str = ""


class WireVarz(WireStats, gc=False):
    server_id: str = ""
    server_name: str = ""
    version: str = ""
    now: Time | None = None
    cluster: WireVarzCluster | None = None
    in_msgs: Count = 0
    in_bytes: Count = 0
    out_msgs: Count = 0
    out_bytes: Count = 0
    routes: Count = 0
    leafnodes: Count = 0
    auth_required: bool = False  # absent when false
    tls_required: bool = False
    tls_cert_not_after: Time | None = None
    max_payload: Signed = 0


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
    conns: Count = 0
    leafnodes: Count = 0
    num_subscriptions: Signed | None = None  # not reported before 2.10
    sent: WireTraffic = field(default_factory=WireTraffic)
    received: WireTraffic = field(default_factory=WireTraffic)
    slow_consumers: Count = 0

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
