"""Bytes -> wire structs -> model values of streams and consumers."""

from __future__ import annotations

import logging
import threading
from datetime import datetime
from typing import TypeVar

import msgspec

from exporter.errors import MalformedResponseError
from exporter.model import (
    Consumer,
    ConsumerConfig,
    Replica,
    Stream,
    StreamConfig,
    StreamOrigin,
)
from exporter.sources.decoding.chosen_metadata import chosen_metadata
from exporter.sources.decoding.owner_notes import consumer_notes, stream_notes
from exporter.sources.decoding.owner_thresholds import owner_thresholds
from exporter.sources.decoding.wire import (
    WireCluster,
    WireConsumer,
    WireConsumerConfig,
    WireOrigin,
    WirePeer,
    WireStream,
    WireStreamConfig,
)
from streamgauge.serving.rate_limit import RateLimitedLog

NANOSECONDS_PER_SECOND = 1e9
# JSZ writes "no limit" of an account as the largest unsigned number.
_UNLIMITED_UNSIGNED = 2**63

T = TypeVar("T")
_decoders: dict[type, msgspec.json.Decoder[object]] = {}
_making = threading.Lock()
_log = RateLimitedLog(logging.getLogger(__name__))


def read_response(kind: type[T], data: bytes | bytearray | memoryview, what: str) -> T:
    """Decodes one response; an error names the path inside the response."""
    decoder = _decoders.get(kind) or _make_decoder(kind)
    try:
        return decoder.decode(data)  # type: ignore[return-value]
    except UnicodeDecodeError:
        text = bytes(data).decode(errors="replace")
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedResponseError(f"{what}: {error}") from error
    _log.log(what, logging.WARNING, "response is not UTF-8, bytes are replaced", request=what)
    return read_response(kind, text.encode(), what)


def _make_decoder(kind: type) -> msgspec.json.Decoder[object]:
    # One at a time: msgspec resolves the types of a struct at its first use, and a second thread
    # that uses them meanwhile crashes the process.
    with _making:
        if kind not in _decoders:
            _decoders[kind] = msgspec.json.Decoder(kind)
        return _decoders[kind]


def positive(value: int) -> int | None:
    """A limit; zero, negative and the largest unsigned number mean no limit."""
    return value if 0 < value < _UNLIMITED_UNSIGNED else None


def limit(value: int) -> int | None:
    """A limit where zero is a real limit (the account may use nothing)."""
    return value if 0 <= value < _UNLIMITED_UNSIGNED else None


def seconds(nanoseconds: int) -> float | None:
    return nanoseconds / NANOSECONDS_PER_SECOND if nanoseconds > 0 else None


def version_numbers(text: str) -> tuple[int, ...]:
    """The numbers before a dash; an unreadable version is older than all others."""
    numbers = text.partition("-")[0].split(".")
    return tuple(int(number) for number in numbers if number.isdigit())


def known_time(moment: datetime | None) -> datetime | None:
    """Go writes "never" as the first day of year one."""
    return None if moment is None or moment.year <= 1 else moment


def replicas(cluster: WireCluster | None) -> tuple[Replica, ...]:
    return peers(cluster.replicas) if cluster is not None and cluster.replicas else ()


def peers(wire: list[WirePeer]) -> tuple[Replica, ...]:
    # A peer without any contact has a huge `active` (or none): unknown, not a duration.
    return tuple(
        Replica(
            peer.name,
            peer.lag,
            peer.offline,
            peer.active / NANOSECONDS_PER_SECOND
            if 0 < peer.active < _UNLIMITED_UNSIGNED - 1
            else None,
        )
        for peer in wire
    )


def stream_kind(name: str) -> str:
    if name.startswith("KV_"):
        return "kv"
    return "object" if name.startswith("OBJ_") else "stream"


def stream_config(name: str, wire: WireStreamConfig, keys: tuple[str, ...] = ()) -> StreamConfig:
    """`keys`: of the metadata to keep."""
    return StreamConfig(
        retention=wire.retention,
        discard=wire.discard,
        storage=wire.storage,
        compression=wire.compression or "none",
        kind=stream_kind(name),
        replicas=max(1, wire.num_replicas),
        mirror=wire.mirror.name if wire.mirror else "",
        sourced=bool(wire.sources),
        subjects=tuple(wire.subjects),
        max_bytes=positive(wire.max_bytes),
        max_messages=positive(wire.max_msgs),
        max_messages_per_subject=positive(wire.max_msgs_per_subject),
        max_consumers=positive(wire.max_consumers),
        max_age_seconds=seconds(wire.max_age),
        duplicate_window_seconds=seconds(wire.duplicate_window),
        thresholds=owner_thresholds(wire.metadata),
        message_ttl=wire.allow_msg_ttl,
        delete_markers=wire.subject_delete_marker_ttl > 0,
        schedules=wire.allow_msg_schedules,
        atomic=wire.allow_atomic,
        no_ack=wire.no_ack,
        allow_direct=wire.allow_direct,
        sealed=wire.sealed,
        sources=len(wire.sources),
        discard_new_per_subject=wire.discard_new_per_subject,
        republish=wire.republish is not None,
        transformed=_transforms(wire),
        notes=stream_notes(wire.metadata),
        metadata=chosen_metadata(wire.metadata, keys),
    )


def _transforms(wire: WireStreamConfig) -> bool:
    origins = [*wire.sources, *([wire.mirror] if wire.mirror else [])]
    return wire.subject_transform is not None or any(one.subject_transforms for one in origins)


def consumer_config(wire: WireConsumerConfig, keys: tuple[str, ...] = ()) -> ConsumerConfig:
    acks = wire.ack_policy not in ("none", "")
    return ConsumerConfig(
        durable=bool(wire.durable_name),
        kind="push" if wire.deliver_subject else "pull",
        ack_policy=wire.ack_policy,
        deliver_policy=wire.deliver_policy,
        replay_policy=wire.replay_policy,
        filters=tuple(wire.filter_subjects)
        or ((wire.filter_subject,) if wire.filter_subject else ()),
        priority_policy=wire.priority_policy or "none",
        flow_control=wire.flow_control,
        internal=wire.direct or wire.sourcing or wire.ack_policy == "flow_control",
        replicas=wire.num_replicas,
        ack_wait_seconds=seconds(wire.ack_wait) if acks else None,
        max_deliver=positive(wire.max_deliver),
        max_ack_pending=positive(wire.max_ack_pending) if acks else None,
        max_waiting=None if wire.deliver_subject else positive(wire.max_waiting),
        backoff_seconds=tuple(wait / NANOSECONDS_PER_SECOND for wait in wire.backoff),
        thresholds=owner_thresholds(wire.metadata),
        inactive_threshold_seconds=seconds(wire.inactive_threshold),
        memory_storage=wire.mem_storage,
        deliver_group=wire.deliver_group,
        idle_heartbeat_seconds=seconds(wire.idle_heartbeat),
        sample_percent=_percent(wire.sample_freq),
        max_batch=positive(wire.max_batch),
        rate_limit_bits=positive(wire.rate_limit_bps),
        notes=consumer_notes(wire.metadata),
        metadata=chosen_metadata(wire.metadata, keys),
    )


def _percent(written: str) -> float | None:
    """`sample_freq` as servers read it: a number with or without a percent sign."""
    number = written.strip().removesuffix("%").strip()
    return float(number) if number.isdecimal() and float(number) > 0 else None


def _origin(wire: WireOrigin) -> StreamOrigin:
    error = wire.error.description if wire.error else ""
    active = wire.active / NANOSECONDS_PER_SECOND if wire.active >= 0 else None
    return StreamOrigin(wire.name, wire.lag, active, error)


def origins(wire: WireStream) -> tuple[StreamOrigin, ...]:
    upstream = ([wire.mirror] if wire.mirror else []) + (wire.sources or [])
    return tuple(_origin(one) for one in upstream)


def stream_name(wire: WireStream) -> str:
    return wire.name or (wire.config.name if wire.config else "")


def has_leader(cluster: WireCluster | None) -> bool:
    """A stand-alone server may omit the cluster; then it leads what it lists."""
    return cluster is None or bool(cluster.leader)


def stream_from_wire(
    account: str,
    wire: WireStream,
    config: StreamConfig | None,
    leader: str,
    follower_messages: tuple[tuple[str, int], ...] = (),
) -> Stream:
    state, cluster, peers_seen = wire.state, wire.cluster, replicas(wire.cluster)
    empty, last_stored = state.messages == 0, known_time(state.last_ts)
    return Stream(
        account=account,
        name=stream_name(wire),
        up=True,
        reason="",
        leader=leader,
        raft_group=cluster.raft_group if cluster else "",
        config=config,
        created=known_time(wire.created),
        messages=state.messages,
        bytes=state.bytes,
        first_seq=state.first_seq,
        last_seq=state.last_seq,
        first_time=None if empty else known_time(state.first_ts),
        last_time=None if empty else last_stored,
        subjects=state.num_subjects,
        consumers=state.consumer_count,
        deleted=state.num_deleted,
        lost=len(state.lost.msgs or ()) if state.lost else 0,
        replicas=peers_seen,
        origins=origins(wire),
        follower_messages=follower_messages,
        hosts=tuple({leader, *(peer.server for peer in peers_seen)} - {""}),
        last_stored=last_stored,
    )


def consumer_from_wire(
    account: str,
    stream: str,
    wire: WireConsumer,
    config: ConsumerConfig | None,
    leader: str,
    stream_first_seq: int,
) -> Consumer:
    # Positional on purpose: this runs once per consumer and poll, and keywords cost a third more.
    delivered, floor = wire.delivered, wire.ack_floor
    return Consumer(
        account,
        stream,
        wire.name,
        True,
        "",
        leader,
        config,
        wire.created,
        delivered.consumer_seq,
        delivered.stream_seq,
        floor.consumer_seq,
        floor.stream_seq,
        wire.num_pending,
        wire.num_ack_pending,
        wire.num_redelivered,
        wire.num_waiting,
        delivered.last_active,
        floor.last_active,
        wire.paused,
        wire.pause_remaining / NANOSECONDS_PER_SECOND if wire.paused else None,
        wire.push_bound,
        replicas(wire.cluster),
        stream_first_seq,
    )


def silent_stream(
    account: str, name: str, reason: str, config: StreamConfig | None, hosts: tuple[str, ...] = ()
) -> Stream:
    return Stream(account, name, False, reason, "", "", config, hosts=hosts)


def silent_consumer(
    account: str,
    stream: str,
    name: str,
    reason: str,
    config: ConsumerConfig | None,
    hosts: tuple[str, ...] = (),
) -> Consumer:
    return Consumer(account, stream, name, False, reason, "", config, hosts=hosts)
