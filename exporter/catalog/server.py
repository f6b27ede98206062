"""Servers and the meta group."""

from __future__ import annotations

from functools import partial

from exporter.catalog.definition import define
from exporter.catalog.labels import SERVER, SYSTEM
from exporter.metric import Kind, Origin, Subject

_DERIVED = Origin.DERIVED

_server = partial(define, subject=Subject.SERVER, labels=SERVER)
_meta = partial(define, subject=Subject.SERVER, labels=SYSTEM)

# An entry is a name, its help text and one line of facts; the formatter would spread the facts.
# fmt: off

SERVER_UP = _server("server_up",
    "1 when the server responded in this poll. A known server stays at 0 for an hour "
    "(configurable), then its series ends.")
SERVER_HEALTHY = _server("server_healthy",
    "1 when the server reports that it is healthy, 0 when it reports a fault. "
    "Absent when it was not requested or got no response.",
    source="healthz: status")

SERVER_CONDITION_START_TIMESTAMP_SECONDS = _server("server_condition_start_timestamp_seconds",
    "Time since when a condition of the server holds, on the exporter's clock. Present only while "
    "it holds. The label condition is down, unhealthy, storage_high or clock_off.",
    labels=(*SERVER, "condition"), origin=_DERIVED)

# --- clock ----------------------------------------------------------------------------------------

SERVER_CLOCK_OFFSET_SECONDS = _server("server_clock_offset_seconds",
    "Server clock minus exporter clock; positive when the server is ahead. Taken from the recent "
    "sample with the smallest uncertainty: see server_clock_uncertainty_seconds.",
    origin=_DERIVED)
SERVER_CLOCK_UNCERTAINTY_SECONDS = _server("server_clock_uncertainty_seconds",
    "Maximum error of the clock offset: half the round trip of its sample plus the possible drift "
    "since then (50 ppm).",
    origin=_DERIVED)
SERVER_ROUND_TRIP_SECONDS = _server("server_round_trip_seconds",
    "Shortest time from a request to this server's response among the last samples. "
    "It includes the server's processing time.",
    origin=_DERIVED)

# --- process --------------------------------------------------------------------------------------

SERVER_START_TIMESTAMP_SECONDS = _server("server_start_timestamp_seconds",
    "Time when the server process started, on the exporter's clock. "
    "Absent when the clock offset of the server is unknown.",
    source="varz, statsz: start")
SERVER_PROCESS_MEMORY_BYTES = _server("server_process_memory_bytes",
    "Resident memory of the server process. For JetStream's memory storage see "
    "server_memory_used_bytes.",
    source="varz, statsz: mem")
SERVER_CPU_RATIO = _server("server_cpu_ratio",
    "Share of the machine's cores that the server process uses; 1 is all of them.",
    source="varz, statsz: cpu, cores")
SERVER_SLOW_CONSUMERS = _server("server_slow_consumers_total",
    "Client connections that the server closed because they did not read fast enough, since it "
    "started. Not related to JetStream consumers.",
    source="varz, statsz: slow_consumers")

# --- connections and traffic ----------------------------------------------------------------------

SERVER_CONNECTIONS = _server("server_connections",
    "Client connections of this server now, of all accounts, the exporter's own included.",
    source="varz, statsz: connections")
SERVER_CONNECTIONS_OPENED = _server("server_connections_opened_total",
    "Connections that this server accepted since it started, routes and leaf nodes included. "
    "A high rate while server_connections stays equal: clients that reconnect again and again.",
    source="varz, statsz: total_connections")
SERVER_SUBSCRIPTIONS = _server("server_subscriptions",
    "Subscriptions on this server now, those of the servers and of JetStream included.",
    source="varz, statsz: subscriptions")
SERVER_ROUTES = _server("server_routes",
    "Route connections of this server to the servers of its cluster; several for each of them since 2.10.",
    source="varz: routes; statsz: routes[]")
SERVER_GATEWAYS = _server("server_gateways",
    "Outbound gateway connections of this server to other clusters. Absent with the monitor source.",
    source="statsz: gateways[]")
SERVER_LEAF_NODES = _server("server_leaf_nodes",
    "Leaf node connections of this server, of all accounts together. Absent with the account source.",
    source="varz: leafnodes; account statz: account_statz[].leafnodes")
SERVER_RECEIVED_MESSAGES = _server("server_received_messages_total",
    "Messages that this server received since it started: from clients, routes, gateways and leaf nodes.",
    source="varz: in_msgs; statsz: received.msgs")
SERVER_RECEIVED_BYTES = _server("server_received_bytes_total",
    "Bytes of the messages that this server received since it started.",
    source="varz: in_bytes; statsz: received.bytes")
SERVER_SENT_MESSAGES = _server("server_sent_messages_total",
    "Messages that this server sent since it started: to clients, routes, gateways and leaf nodes.",
    source="varz: out_msgs; statsz: sent.msgs")
SERVER_SENT_BYTES = _server("server_sent_bytes_total",
    "Bytes of the messages that this server sent since it started.",
    source="varz: out_bytes; statsz: sent.bytes")

# --- JetStream on that server ---------------------------------------------------------------------

SERVER_STORAGE_USED_BYTES = _server("server_storage_used_bytes",
    "File storage that JetStream uses on this server, all accounts and replicas together.",
    source="jsz: storage")
SERVER_STORAGE_RESERVED_BYTES = _server("server_storage_reserved_bytes",
    "File storage reserved for streams with a max_bytes on this server, used or not.",
    source="jsz: reserved_storage")
SERVER_STORAGE_MAX_BYTES = _server("server_storage_max_bytes",
    "File storage that this server's configuration allows for JetStream. "
    "The disk can be smaller.",
    source="jsz: config.max_storage")
SERVER_MEMORY_USED_BYTES = _server("server_memory_used_bytes",
    "Memory storage that JetStream uses on this server, all accounts and replicas together. "
    "Not the memory of the process.",
    source="jsz: memory")
SERVER_MEMORY_RESERVED_BYTES = _server("server_memory_reserved_bytes",
    "Memory storage reserved for streams with a max_bytes on this server, used or not.",
    source="jsz: reserved_memory")
SERVER_MEMORY_MAX_BYTES = _server("server_memory_max_bytes",
    "Memory storage that this server's configuration allows for JetStream.",
    source="jsz: config.max_memory")
SERVER_HA_ASSETS = _server("server_ha_assets",
    "Raft groups with a member on this server: replicated streams, replicated consumers and the "
    "meta group. Each uses CPU even when idle.",
    source="jsz: ha_assets")
SERVER_STREAM_LEADERS = _server("server_stream_leaders",
    "Streams that this server leads.",
    source="jsz: account_details[].stream_detail[].cluster.leader")
SERVER_CONSUMER_LEADERS = _server("server_consumer_leaders",
    "Consumers that this server leads.",
    source="jsz: account_details[].stream_detail[].consumer_detail[].cluster.leader")
SERVER_API_REQUESTS = _server("server_api_requests_total",
    "JetStream API requests that this server handled since it started, "
    "the exporter's own included. Publishes and acknowledgements are not API requests.",
    source="jsz: api.total")
SERVER_API_ERRORS = _server("server_api_errors_total",
    "JetStream API requests to this server that failed, since it started. "
    "Rejected publishes do not count.",
    source="jsz: api.errors")
SERVER_API_INFLIGHT = _server("server_api_inflight",
    "JetStream API requests that wait at this server now. A server with too many of them "
    "drops the whole queue.",
    source="jsz: api.inflight")
SERVER_CONFIG_FINDING = _server("server_config_finding",
    "1 for each audit check that this server fails. "
    "The label check is the permanent code of the check.",
    labels=(*SERVER, "check", "severity"), kind=Kind.INFO, origin=_DERIVED)
SERVER_INFO = _server("server_info",
    "Properties of the server as labels; the value is always 1.",
    labels=(*SERVER, "version", "cluster", "domain", "jetstream", "api_level"),
    source="varz: version, cluster.name, jetstream.config.domain, jetstream.stats.api.level")

# --- meta group -----------------------------------------------------------------------------------

META_LEADER = _meta("meta_leader",
    "1 for the leader of the meta group, 0 for every other server of a clustered system. "
    "All 0: there is no leader, assets cannot be created, and lists fail. Absent when not clustered.",
    labels=SERVER, source="jsz: meta_cluster.leader")
META_SIZE = _meta("meta_size",
    "Members of the meta group, reachable or not. "
    "A quorum needs more than half of them.",
    source="jsz: meta_cluster.cluster_size",
    purpose="For own rules about the quorum of the meta group.")
META_PENDING = _meta("meta_pending",
    "Operations that the meta leader has not applied yet.",
    source="jsz: meta_cluster.pending")
META_REPLICA_OFFLINE = _meta("meta_replica_offline",
    "1 when the meta leader reports this server as offline, else 0.",
    labels=SERVER, source="jsz: meta_cluster.replicas[].offline")
META_REPLICA_LAG = _meta("meta_replica_lag",
    "Raft entries that this server is behind the meta leader, as the leader reports.",
    labels=SERVER, source="jsz: meta_cluster.replicas[].lag")
META_CONFIG_FINDING = _meta("meta_config_finding",
    "1 for each audit check that the meta group, or the system as a whole, fails. "
    "The label check is the permanent code of the check.",
    labels=(*SYSTEM, "check", "severity"), kind=Kind.INFO, origin=_DERIVED)
META_SNAPSHOT_SECONDS = _meta("meta_snapshot_seconds",
    "Duration of the meta leader's last snapshot. "
    "Absent on servers that do not report it, and before the first snapshot.",
    source="jsz: meta_cluster.snapshot.last_duration")
