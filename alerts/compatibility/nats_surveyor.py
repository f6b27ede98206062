"""The names of nats-surveyor 0.9 and their replacements."""

from __future__ import annotations

from typing import Final

from alerts.compatibility.mapping import Family, OldMetric, Subject, gone, instead, series
from streamgauge.promql.functions import since

_SERVER: Final = Subject({"server_name": "server"})
_ACCOUNT: Final = Subject({"account": "account", "account_name": "account"})
_STREAM: Final = Subject({**_ACCOUNT.labels, "stream": "stream"})
_CONSUMER: Final = Subject({**_STREAM.labels, "consumer_name": "consumer"})
_PEER: Final = Subject({"peer": "server"})

_ONCE: Final = (
    "Once, from the leader. The old one has a series for each replica: sums are too high."
)
_ONE_SERVER: Final = (
    "The old one counts the replicas on one server, and adding servers up counts each replica."
)
_EQUAL: Final = "The same value."
_COUNTER: Final = "A counter now: `rate` and `increase` are right."
_FULL: Final = "Level full."
_UNLIMITED: Final = "Absent when unlimited; the old one reports 18446744073709551615."
_EVENTS: Final = "Counted by 1 for each event; series appear with the first one."

STREAM: Final = (
    _STREAM.same("nats_stream_total_messages", "stream_messages", _ONCE),
    _STREAM.same("nats_stream_total_bytes", "stream_bytes", _ONCE),
    _STREAM.same("nats_stream_first_seq", "stream_first_seq", _ONCE),
    _STREAM.same("nats_stream_last_seq", "stream_stored_messages_total", _COUNTER),
    _STREAM.same("nats_stream_consumer_count", "stream_consumers", "The real number; the old one always reports 0."),
    _STREAM.same("nats_stream_subject_count", "stream_subjects", _ONCE),
)  # fmt: skip

CONSUMER: Final = (
    _CONSUMER.same("nats_consumer_num_pending", "consumer_num_pending",
        "Only the leader knows it; in the old one followers report 0."),
    _CONSUMER.same("nats_consumer_num_ack_pending", "consumer_num_ack_pending", _ONCE),
    _CONSUMER.same("nats_consumer_num_redelivered", "consumer_num_redelivered",
        "Messages that are being redelivered now. The number of redeliveries: consumer_redeliveries_total."),
    _CONSUMER.same("nats_consumer_num_waiting", "consumer_num_waiting", _ONCE),
    _CONSUMER.same("nats_consumer_delivered_consumer_seq", "consumer_deliveries_total", _COUNTER),
    _CONSUMER.same("nats_consumer_delivered_stream_seq", "consumer_delivered_stream_seq", _FULL),
    _CONSUMER.same("nats_consumer_ack_floor_consumer_seq", "consumer_ack_floor_consumer_seq", _FULL),
    _CONSUMER.same("nats_consumer_ack_floor_stream_seq", "consumer_ack_floor_stream_seq",
        f"{_FULL} Most queries need consumer_ack_floor_gap instead."),
)  # fmt: skip

ACCOUNT: Final = (
    _ACCOUNT.same("nats_core_account_jetstream_storage_used", "account_storage_used_bytes",
        "Accounts without JetStream have no series; the old one reports 0."),
    _ACCOUNT.same("nats_core_account_jetstream_memory_used", "account_memory_used_bytes",
        "Accounts without JetStream have no series; the old one reports 0."),
    _ACCOUNT.same("nats_core_account_jetstream_storage_reserved", "account_storage_limit_bytes", _UNLIMITED),
    _ACCOUNT.same("nats_core_account_jetstream_memory_reserved", "account_memory_limit_bytes", _UNLIMITED),
    _ACCOUNT.same("nats_core_account_jetstream_stream_count", "account_streams"),
    _STREAM.same("nats_core_account_jetstream_consumer_count", "stream_consumers", "Without the label raft_group."),
    _STREAM.same("nats_core_account_jetstream_replica_count", "stream_replicas", "Without the label raft_group."),
    instead("nats_core_account_jetstream_enabled", "account_streams", "An account with JetStream has series."),
    instead("nats_core_account_jetstream_tiered_storage_used", "account_storage_used_bytes",
        "The label `tier`, with the account source."),
    instead("nats_core_account_jetstream_tiered_storage_reserved", "account_storage_limit_bytes",
        "The label `tier`, with the account source."),
    instead("nats_core_account_jetstream_tiered_memory_used", "account_memory_used_bytes",
        "The label `tier`, with the account source."),
    instead("nats_core_account_jetstream_tiered_memory_reserved", "account_memory_limit_bytes",
        "The label `tier`, with the account source."),
    instead("nats_core_account_slow_consumer_count", "account_slow_consumers_total", _COUNTER),
    instead("nats_core_account_conn_count", "account_connections", _EQUAL),
    instead("nats_core_account_leaf_count", "account_leaf_nodes", _EQUAL),
    instead("nats_core_account_sub_count", "account_subscriptions", _EQUAL),
    instead("nats_core_account_msgs_recv", "account_received_messages_total", _EQUAL),
    instead("nats_core_account_bytes_recv", "account_received_bytes_total", _EQUAL),
    instead("nats_core_account_msgs_sent", "account_sent_messages_total", _EQUAL),
    instead("nats_core_account_bytes_sent", "account_sent_bytes_total", _EQUAL),
    gone("nats_core_account_total_conn_count", "Not served; of a server: server_connections_opened_total."),
    instead("nats_core_account_count", "account_connections", "Count its accounts; unused ones have no series."),
)  # fmt: skip

SERVER: Final = (
    _SERVER.same("nats_core_jetstream_filestore_size_bytes", "server_storage_max_bytes"),
    _SERVER.same("nats_core_jetstream_filestore_used_bytes", "server_storage_used_bytes"),
    _SERVER.same("nats_core_jetstream_filestore_reserved_bytes", "server_storage_reserved_bytes"),
    _SERVER.same("nats_core_jetstream_memstore_size_bytes", "server_memory_max_bytes"),
    _SERVER.same("nats_core_jetstream_memstore_used_bytes", "server_memory_used_bytes"),
    _SERVER.same("nats_core_jetstream_memstore_reserved_bytes", "server_memory_reserved_bytes"),
    _SERVER.same("nats_core_jetstream_ha_assets", "server_ha_assets"),
    _SERVER.same("nats_core_jetstream_api_requests", "server_api_requests_total"),
    _SERVER.same("nats_core_jetstream_api_errors", "server_api_errors_total"),
    _SERVER.computed("nats_core_jetstream_enabled", 'server_info{jetstream="true"}',
        (series("server_info", jetstream="false") * 0).or_(series("server_info")), "A label of the info."),
    instead("nats_core_jetstream_info", "server_info", "Other label names: version, cluster, domain, jetstream."),
    instead("nats_core_jetstream_accounts", "account_streams", "Count its accounts."),
    _SERVER.computed("nats_core_jetstream_server_jetstream_disabled", 'server_info{jetstream="false"}',
        (series("server_info", jetstream="true") * 0).or_(series("server_info")), "A label of the info."),
    _SERVER.same("nats_core_jetstream_server_max_storage", "server_storage_max_bytes"),
    _SERVER.same("nats_core_jetstream_server_max_memory", "server_memory_max_bytes"),
    _SERVER.same("nats_core_jetstream_server_total_stream_leaders", "server_stream_leaders"),
    _SERVER.same("nats_core_jetstream_server_total_consumer_leaders", "server_consumer_leaders"),
    instead("nats_core_jetstream_server_total_streams", "account_streams", _ONE_SERVER),
    instead("nats_core_jetstream_server_total_consumers", "account_consumers", _ONE_SERVER),
    instead("nats_core_jetstream_server_total_messages", "stream_messages", _ONE_SERVER),
    instead("nats_core_jetstream_server_total_message_bytes", "server_storage_used_bytes",
        "The bytes of messages in files and in memory together; here apart: server_memory_used_bytes."),
    _SERVER.same("nats_core_mem_bytes", "server_process_memory_bytes"),
    instead("nats_core_cpu_percentage", "server_cpu_ratio", "A share of all cores; the old one is percent of one core."),
    _SERVER.same("nats_core_slow_consumer_count", "server_slow_consumers_total", _COUNTER),
    instead("nats_core_connection_count", "server_connections", _EQUAL),
    instead("nats_core_total_connection_count", "server_connections_opened_total", _COUNTER),
    instead("nats_core_subs_count", "server_subscriptions", _EQUAL),
    instead("nats_core_route_count", "server_routes", _EQUAL),
    instead("nats_core_gateway_count", "server_gateways", _EQUAL),
    instead("nats_core_sent_msgs_count", "server_sent_messages_total", _COUNTER),
    instead("nats_core_sent_bytes", "server_sent_bytes_total", _COUNTER),
    instead("nats_core_recv_msgs_count", "server_received_messages_total", _COUNTER),
    instead("nats_core_recv_bytes", "server_received_bytes_total", _COUNTER),
    _SERVER.computed("nats_core_rtt_nanoseconds", "server_round_trip_seconds",
        series("server_round_trip_seconds") * 1e9, "Seconds, and the best of several samples."),
    _SERVER.computed("nats_core_start_time", "server_start_timestamp_seconds",
        series("server_start_timestamp_seconds") * 1e9, "Seconds; the old one is in nanoseconds."),
    _SERVER.computed("nats_core_uptime", "server_start_timestamp_seconds",
        since(series("server_start_timestamp_seconds")), "A timestamp; subtract it from `time()`."),
    instead("nats_core_info", "server_info", "Other label names: version, cluster."),
)  # fmt: skip

META: Final = (
    _SERVER.same("nats_core_jetstream_cluster_raft_group_leader", "meta_leader"),
    _PEER.same("nats_core_jetstream_cluster_raft_group_replica_peer_offline", "meta_replica_offline",
        "The label `peer` is the server; the leader is not a label."),
    instead("nats_core_jetstream_cluster_raft_group_replica_peer_current", "meta_replica_lag",
        "How far behind it is, in operations."),
    gone("nats_core_jetstream_cluster_raft_group_replica_peer_active", "Nanoseconds since the last contact; not served."),
    instead("nats_core_jetstream_cluster_raft_group_size", "meta_size", "Once for the system."),
    instead("nats_core_jetstream_cluster_raft_group_replicas", "meta_size", "The members without the leader: meta_size - 1."),
    instead("nats_core_jetstream_cluster_raft_group_info", "meta_leader", "0 or 1 for each server, no name in a label."),
    instead("nats_core_jetstream_api_pending", "meta_pending",
        "In spite of its name the old one holds what waits at the meta leader. Requests that wait at a server: server_api_inflight."),
    instead("nats_core_jetstream_meta_snapshot_last_duration_seconds", "meta_snapshot_seconds", "Once for the system."),
    gone("nats_core_jetstream_meta_snapshot_last_timestamp_seconds", "Not served; -62135596800 before the first one."),
    gone("nats_core_jetstream_meta_snapshot_pending_entries", "Not served."),
    gone("nats_core_jetstream_meta_snapshot_pending_bytes", "Not served."),
)  # fmt: skip

ADVISORIES: Final = (
    instead("nats_jetstream_delivery_exceeded_count", "consumer_exhausted_total",
        f"{_EVENTS} The old one adds the number of deliveries of each message."),
    instead("nats_jetstream_delivery_terminated_count", "consumer_terms_total", f"{_EVENTS} Level full, with the label `by`."),
    instead("nats_jetstream_consumer_nak", "consumer_naks_total", _EVENTS),
    instead("nats_jetstream_acknowledgement_duration", "consumer_ack_seconds",
        f"{_FULL} Other buckets. The clock of a sample restarts at each redelivery."),
    instead("nats_jetstream_acknowledgement_deliveries", "consumer_deliveries_total",
        "Every delivery, not only of consumers with sample_freq."),
    instead("nats_jetstream_stream_leader_elected", "stream_leader_changes_total",
        "From the responses, so it needs no advisory; only real changes count."),
    instead("nats_jetstream_consumer_leader_elected", "consumer_leader_changes_total",
        f"{_FULL} From the responses; only real changes count."),
    instead("nats_jetstream_stream_quorum_lost", "stream_quorum_lost_total", _EVENTS),
    instead("nats_jetstream_consumer_quorum_lost", "advisories_total", 'kind="consumer_quorum_lost" and alike.'),
    instead("nats_jetstream_restore_created_count", "stream_restores_total", "Completed restores, not started ones."),
    instead("nats_jetstream_stream_actions", "advisories_total", "The label `kind` holds the last tokens of the subject."),
    instead("nats_jetstream_consumer_actions", "advisories_total", "The label `kind` holds the last tokens of the subject."),
    instead("nats_jetstream_total_advisories", "advisories_total", "By account and kind."),
    instead("nats_jetstream_unknown_advisories", "advisories_total", 'kind="other".'),
    gone("nats_jetstream_advisory_count", "The number of listeners. Whether the exporter is subscribed: advisories_connected_timestamp_seconds."),
    gone("nats_jetstream_api_audit", "Every API call of every client; not watched."),
    instead("nats_jetstream_advisory_parse_errors", "advisories_total", 'kind="malformed".'),
    gone("nats_jetstream_snapshot_size_bytes", "Not watched."),
    gone("nats_jetstream_snapshot_duration", "Not watched."),
    gone("nats_jetstream_restore_size_bytes", "Not watched."),
    gone("nats_jetstream_restore_duration", "Not watched."),
)  # fmt: skip

SURVEY: Final = (
    instead("nats_up", "up", "0 whenever the last poll was not complete. For rules: snapshot_age_seconds."),
    instead("nats_survey_surveyed_count", "servers_responding", "With the label system."),
    instead("nats_survey_expected_count", "servers_expected", "With the label system."),
    instead("nats_survey_duration_seconds", "poll_duration_seconds", "The last poll, which no scrape waits for."),
    instead("nats_survey_poll_error_count", "poll_errors_total", "By request and reason."),
    instead("nats_survey_no_replies_count", "poll_errors_total", 'reason="timeout".'),
    instead("nats_survey_late_replies_count", "poll_errors_total", 'reason="timeout".'),
    instead("nats_survey_nats_reconnects", "poll_errors_total", 'reason="connection" and reason="disconnected".'),
)  # fmt: skip

NAMES: Final[dict[str, tuple[OldMetric, ...]]] = {
    "Streams": STREAM,
    "Consumers": CONSUMER,
    "Accounts": ACCOUNT,
    "Servers": SERVER,
    "The meta group": META,
    "Advisories": ADVISORIES,
    "The survey itself": SURVEY,
}

_DETAIL: Final = "Not served. Keep nats-surveyor for them if you need them, without its `jsz` flag."
FAMILIES: Final = (
    Family("nats_core_account_", f"Splits by clients, routes, gateways and leaf nodes. {_DETAIL}"),
    Family("nats_core_gateway_", f"Traffic of single gateways. {_DETAIL}"),
    Family("nats_core_raftz_", "Positions of the meta group's log; not served."),
    Family("nats_core_route_", f"Traffic of single routes. {_DETAIL}"),
    Family("nats_core_", _DETAIL),
    Family("nats_latency_", "Latency of services; not watched."),
)
