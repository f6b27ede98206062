"""Responses of the JetStream API, servers 2.9 to 2.15, as structs; every field may be missing.

Only fields that the decoder needs are declared; msgspec ignores the others.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct, field

_HIGHEST = 2**63 - 1
Count = Annotated[int, Meta(ge=0, le=_HIGHEST)]
"""A negative count, also one that the server wrote as a huge unsigned number, makes its row malformed."""
Signed = Annotated[int, Meta(ge=-_HIGHEST - 1, le=_HIGHEST)]
Nanoseconds = Annotated[int, Meta(ge=-_HIGHEST, le=_HIGHEST)]
Time = Annotated[datetime, Meta(tz=True)]
Unbounded = int
"""Servers write "no limit" and negative sums as huge unsigned numbers: `limit` makes them unknown."""


class WireSequence(Struct, gc=False):
    consumer_seq: Count = 0
    stream_seq: Count = 0
    last_active: Time | None = None


class WirePeer(Struct, gc=False):
    name: str = ""
    current: bool = False
    offline: bool = False
    active: Nanoseconds = 0
    lag: Count = 0


class WireCluster(Struct, gc=False):
    name: str = ""
    leader: str = ""
    raft_group: str = ""
    leader_since: Time | None = None
    replicas: list[WirePeer] = field(default_factory=list)


class WireConsumerConfig(Struct, gc=False):
    durable_name: str = ""
    deliver_policy: str = ""
    ack_policy: str = ""
    ack_wait: Nanoseconds = 0
    max_deliver: Signed = 0
    backoff: list[Nanoseconds] = field(default_factory=list)
    filter_subject: str = ""
    filter_subjects: list[str] = field(default_factory=list)
    replay_policy: str = ""
    max_waiting: Signed = 0
    max_ack_pending: Signed = 0
    deliver_subject: str = ""
    flow_control: bool = False
    num_replicas: Signed = 0
    direct: bool = False
    sourcing: bool = False
    priority_policy: str = ""
    inactive_threshold: Nanoseconds = 0
    mem_storage: bool = False
    deliver_group: str = ""
    idle_heartbeat: Nanoseconds = 0
    sample_freq: str = ""
    max_batch: Signed = 0
    rate_limit_bps: Unbounded = 0
    metadata: dict[str, str] = field(default_factory=dict)


class WireConsumer(Struct, gc=False):
    name: str = ""
    stream_name: str = ""
    created: Time | None = None
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
    max_consumers: Signed = 0
    max_msgs: Signed = 0
    max_bytes: Signed = 0
    max_age: Nanoseconds = 0
    max_msgs_per_subject: Signed = 0
    discard: str = ""
    storage: str = ""
    num_replicas: Signed = 0
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
    msgs: list[Signed] | None = None


class WireState(Struct, gc=False):
    messages: Count = 0
    bytes: Count = 0
    first_seq: Count = 0
    first_ts: Time | None = None
    last_seq: Count = 0
    last_ts: Time | None = None
    num_subjects: Count = 0
    num_deleted: Count = 0
    consumer_count: Count = 0
    lost: WireLost | None = None


class WireApiError(Struct, gc=False):
    code: Signed = 0
    err_code: Signed = 0
    description: str = ""


class WireOrigin(Struct, gc=False):
    name: str = ""
    lag: Count = 0
    active: Nanoseconds = 0
    error: WireApiError | None = None


class WireStream(Struct, gc=False):
    """A stream as STREAM.LIST and STREAM.INFO give it (name in config) and as JSZ does (name)."""

    name: str = ""
    created: Time | None = None
    config: WireStreamConfig | None = None
    state: WireState = field(default_factory=WireState)
    cluster: WireCluster | None = None
    mirror: WireOrigin | None = None
    sources: list[WireOrigin] | None = None
    consumer_detail: list[WireConsumer] | None = None
    error: WireApiError | None = None  # an INFO response may contain nothing else


class WireApiStats(Struct, gc=False):
    level: Signed | None = None
    total: Count = 0
    errors: Count = 0
    inflight: Count = 0


class WireLimits(Struct, gc=False):
    max_memory: Signed = -1
    max_storage: Signed = -1
    max_streams: Signed = -1
    max_consumers: Signed = -1


class WireUsage(Struct, gc=False):
    """An account's or a tier's usage."""

    memory: Unbounded = 0
    storage: Unbounded = 0
    reserved_memory: Unbounded | None = None  # not written before 2.10
    reserved_storage: Unbounded | None = None
    streams: Signed = 0
    consumers: Signed = 0
    limits: WireLimits = field(default_factory=WireLimits)


class WireAccountInfo(WireUsage, gc=False):
    api: WireApiStats = field(default_factory=WireApiStats)
    tiers: dict[str, WireUsage] | None = None
    domain: str = ""
    error: WireApiError | None = None


class WireStreamList(Struct, gc=False):
    total: Unbounded = 0
    offset: Unbounded = 0
    limit: Unbounded = 0
    streams: list[WireStream] | None = None
    missing: list[str] | None = None
    offline: dict[str, str] | None = None
    error: WireApiError | None = None


class WireConsumerList(Struct, gc=False):
    total: Unbounded = 0
    offset: Unbounded = 0
    limit: Unbounded = 0
    consumers: list[WireConsumer] | None = None
    missing: list[str] | None = None
    offline: dict[str, str] | None = None
    error: WireApiError | None = None


class WireConsumerInfo(WireConsumer, gc=False):
    error: WireApiError | None = None
