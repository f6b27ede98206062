"""Columns of the server and meta group metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exporter import catalog
from exporter.exposition.text_format import Column, extend_head, label_head
from exporter.model import MetaGroup, Server
from exporter.samples.rows import yes_no
from exporter.signals.clock import on_exporter_clock

_INFO_LABELS = catalog.SERVER_INFO.labels[len(catalog.SERVER) :]


def server_columns(system: str, servers: Sequence[Server]) -> Iterator[Column]:
    heads = [label_head(catalog.SERVER, (system, server.name)) for server in servers]
    yield Column(catalog.SERVER_UP, heads, (int(s.up) for s in servers))
    yield Column(catalog.SERVER_HEALTHY, heads, (_flag(s.healthy) for s in servers))
    yield from _clock(servers, heads)
    yield from _process(servers, heads)
    yield from _network(servers, heads)
    yield from _jetstream(servers, heads)
    info_heads = (_info_head(s, head) for s, head in zip(servers, heads, strict=True))
    yield Column(catalog.SERVER_INFO, info_heads, (1 for _ in servers))


def _flag(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _clock(servers: Sequence[Server], heads: Sequence[str]) -> Iterator[Column]:
    clocks = [server.clock if server.up else None for server in servers]
    offset = (c.offset_seconds if c else None for c in clocks)
    yield Column(catalog.SERVER_CLOCK_OFFSET_SECONDS, heads, offset)
    uncertainty = (c.uncertainty_seconds if c else None for c in clocks)
    yield Column(catalog.SERVER_CLOCK_UNCERTAINTY_SECONDS, heads, uncertainty)
    trip = (c.round_trip_seconds if c else None for c in clocks)
    yield Column(catalog.SERVER_ROUND_TRIP_SECONDS, heads, trip)


def _process(servers: Sequence[Server], heads: Sequence[str]) -> Iterator[Column]:
    started = (
        on_exporter_clock(s.start, s.name, {s.name: s.clock.offset_seconds} if s.clock else {})
        for s in servers
    )
    yield Column(catalog.SERVER_START_TIMESTAMP_SECONDS, heads, started)
    memory = (s.process_memory_bytes for s in servers)
    yield Column(catalog.SERVER_PROCESS_MEMORY_BYTES, heads, memory)
    yield Column(catalog.SERVER_CPU_RATIO, heads, (s.cpu_ratio for s in servers))
    yield Column(catalog.SERVER_SLOW_CONSUMERS, heads, (s.slow_consumers for s in servers))


def _network(servers: Sequence[Server], heads: Sequence[str]) -> Iterator[Column]:
    found = [(head, s.network) for s, head in zip(servers, heads, strict=True) if s.network]
    own, rows = [head for head, _ in found], [row for _, row in found]
    yield Column(catalog.SERVER_CONNECTIONS, own, (r.connections for r in rows))
    yield Column(catalog.SERVER_CONNECTIONS_OPENED, own, (r.connections_opened for r in rows))
    yield Column(catalog.SERVER_SUBSCRIPTIONS, own, (r.subscriptions for r in rows))
    yield Column(catalog.SERVER_ROUTES, own, (r.routes for r in rows))
    yield Column(catalog.SERVER_GATEWAYS, own, (r.gateways for r in rows))
    yield Column(catalog.SERVER_LEAF_NODES, heads, (s.leaf_nodes for s in servers))
    traffic = [row.traffic for row in rows]
    yield Column(catalog.SERVER_RECEIVED_MESSAGES, own, (t.received_messages for t in traffic))
    yield Column(catalog.SERVER_RECEIVED_BYTES, own, (t.received_bytes for t in traffic))
    yield Column(catalog.SERVER_SENT_MESSAGES, own, (t.sent_messages for t in traffic))
    yield Column(catalog.SERVER_SENT_BYTES, own, (t.sent_bytes for t in traffic))


def _jetstream(servers: Sequence[Server], heads: Sequence[str]) -> Iterator[Column]:
    yield Column(catalog.SERVER_STORAGE_USED_BYTES, heads, (s.storage_used for s in servers))
    reserved = (s.storage_reserved for s in servers)
    yield Column(catalog.SERVER_STORAGE_RESERVED_BYTES, heads, reserved)
    yield Column(catalog.SERVER_STORAGE_MAX_BYTES, heads, (s.storage_max for s in servers))
    yield Column(catalog.SERVER_MEMORY_USED_BYTES, heads, (s.memory_used for s in servers))
    reserved = (s.memory_reserved for s in servers)
    yield Column(catalog.SERVER_MEMORY_RESERVED_BYTES, heads, reserved)
    yield Column(catalog.SERVER_MEMORY_MAX_BYTES, heads, (s.memory_max for s in servers))
    yield Column(catalog.SERVER_HA_ASSETS, heads, (s.ha_assets for s in servers))
    yield Column(catalog.SERVER_STREAM_LEADERS, heads, (s.stream_leaders for s in servers))
    yield Column(catalog.SERVER_CONSUMER_LEADERS, heads, (s.consumer_leaders for s in servers))
    yield Column(catalog.SERVER_API_REQUESTS, heads, (s.api_requests for s in servers))
    yield Column(catalog.SERVER_API_ERRORS, heads, (s.api_errors for s in servers))
    yield Column(catalog.SERVER_API_INFLIGHT, heads, (s.api_inflight for s in servers))


def _info_head(server: Server, head: str) -> str:
    values = {
        "version": server.version,
        "cluster": server.cluster,
        "domain": server.domain,
        "jetstream": yes_no(server.jetstream),
        "api_level": "" if server.api_level is None else str(server.api_level),
    }
    return extend_head(head, _INFO_LABELS, [values[name] for name in _INFO_LABELS])


def meta_columns(
    system: str, meta: MetaGroup | None, servers: Sequence[Server]
) -> Iterator[Column]:
    if meta is None:
        return
    members = [server for server in servers if server.meta_leader is not None]
    heads = [label_head(catalog.SERVER, (system, server.name)) for server in members]
    # Use the response of the meta leader: other servers may still name the previous one.
    leads = (int(server.name == meta.leader) for server in members)
    yield Column(catalog.META_LEADER, heads, leads)
    alone = [label_head(catalog.SYSTEM, (system,))]
    yield Column(catalog.META_SIZE, alone, [meta.size])
    yield Column(catalog.META_PENDING, alone, [meta.pending])
    yield Column(catalog.META_SNAPSHOT_SECONDS, alone, [meta.snapshot_seconds])
    peers = [label_head(catalog.SERVER, (system, peer.server)) for peer in meta.replicas]
    offline = (int(peer.offline) for peer in meta.replicas)
    yield Column(catalog.META_REPLICA_OFFLINE, peers, offline)
    yield Column(catalog.META_REPLICA_LAG, peers, (peer.lag for peer in meta.replicas))
