"""The names of prometheus-nats-exporter 0.20 and their replacements."""

from __future__ import annotations

from typing import Final

from alerts.compatibility.mapping import Family, OldMetric, Subject, instead, series
from streamgauge.promql.functions import since
from streamgauge.promql.selectors import Not

_SERVER: Final = Subject({"server_name": "server"})
_VARZ: Final = Subject({"server_id": "server"})
_ACCOUNT: Final = Subject({"account": "account", "account_name": "account"})
_STREAM_LABELS: Final = {**_ACCOUNT.labels, "stream_name": "stream"}
_STREAM: Final = Subject(_STREAM_LABELS, {"is_stream_leader": "true"})
_SOURCE: Final = Subject({**_STREAM_LABELS, "source_name": "source"}, _STREAM.constant_labels)
_MIRROR: Final = Subject({**_STREAM_LABELS, "mirror_name": "source"}, _STREAM.constant_labels)
_CONSUMER: Final = Subject(
    {**_STREAM_LABELS, "consumer_name": "consumer"}, {"is_consumer_leader": "true"}
)

_ONCE: Final = (
    "Once, from the leader. The old one has a series for each replica: sums are too high."
)
_ONE_SERVER: Final = (
    "The old one counts the replicas on one server, and adding servers up counts each replica."
)
_MIRRORS: Final = series("stream_info", mirror=Not(""))
_IDENTITY: Final = ("system", "account", "stream")
_UNLIMITED: Final = "Absent when unlimited; the old one reports -1."
_ACCOUNT_UNLIMITED: Final = "Absent when unlimited; the old one reports 18446744073709551615."
_PER_ACCOUNT: Final = (
    "Once for the account. In the old one every server reports the value of the whole account."
)
_EQUAL: Final = "The same value."
_COUNTER: Final = "A counter now: `rate` and `increase` are right."
_FULL: Final = "Level full."

SERVER: Final = (
    _SERVER.computed("jetstream_server_jetstream_disabled", 'server_info{jetstream="false"}',
        (series("server_info", jetstream="true") * 0).or_(series("server_info")), "A label of the info."),
    _SERVER.same("jetstream_server_max_storage", "server_storage_max_bytes"),
    _SERVER.same("jetstream_server_max_memory", "server_memory_max_bytes"),
    instead("jetstream_server_total_streams", "account_streams", _ONE_SERVER),
    instead("jetstream_server_total_consumers", "account_consumers", _ONE_SERVER),
    instead("jetstream_server_total_messages", "stream_messages", _ONE_SERVER),
    instead("jetstream_server_total_message_bytes", "server_storage_used_bytes",
        "The bytes of messages in files and in memory together; here apart: server_memory_used_bytes."),
)  # fmt: skip

ACCOUNT: Final = (
    _ACCOUNT.same("jetstream_account_storage_used", "account_storage_used_bytes", _PER_ACCOUNT),
    _ACCOUNT.same("jetstream_account_memory_used", "account_memory_used_bytes", _PER_ACCOUNT),
    _ACCOUNT.same("jetstream_account_max_storage", "account_storage_limit_bytes", _ACCOUNT_UNLIMITED),
    _ACCOUNT.same("jetstream_account_max_memory", "account_memory_limit_bytes", _ACCOUNT_UNLIMITED),
)  # fmt: skip

STREAM: Final = (
    _STREAM.same("jetstream_stream_total_messages", "stream_messages", _ONCE),
    _STREAM.same("jetstream_stream_total_bytes", "stream_bytes", _ONCE),
    _STREAM.same("jetstream_stream_first_seq", "stream_first_seq", _ONCE),
    _STREAM.same("jetstream_stream_last_seq", "stream_stored_messages_total", _COUNTER),
    _STREAM.same("jetstream_stream_consumer_count", "stream_consumers", _ONCE),
    _STREAM.same("jetstream_stream_subject_count", "stream_subjects", _ONCE),
    _STREAM.same("jetstream_stream_limit_bytes", "stream_max_bytes", _UNLIMITED),
    _STREAM.same("jetstream_stream_limit_messages", "stream_max_messages", _UNLIMITED),
    _SOURCE.computed("jetstream_stream_source_lag", "stream_source_lag",
        series("stream_source_lag").unless(_MIRRORS, on=_IDENTITY), "Sources and mirrors share a name."),
    _SOURCE.computed("jetstream_stream_source_active_duration_ns", "stream_source_active_seconds",
        (series("stream_source_active_seconds") * 1e9).unless(_MIRRORS, on=_IDENTITY),
        "Seconds. Absent while a source had no contact yet; the old one reports -1."),
    _MIRROR.computed("jetstream_stream_mirror_lag", "stream_source_lag",
        series("stream_source_lag").where(_MIRRORS, on=_IDENTITY), "Sources and mirrors share a name."),
    _MIRROR.computed("jetstream_stream_mirror_active_duration_ns", "stream_source_active_seconds",
        (series("stream_source_active_seconds") * 1e9).where(_MIRRORS, on=_IDENTITY),
        "Seconds. Absent while a mirror had no contact yet; the old one reports -1."),
)  # fmt: skip

CONSUMER: Final = (
    _CONSUMER.same("jetstream_consumer_num_pending", "consumer_num_pending",
        "Only the leader knows it; in the old one followers report 0."),
    _CONSUMER.same("jetstream_consumer_num_ack_pending", "consumer_num_ack_pending", _ONCE),
    _CONSUMER.same("jetstream_consumer_num_redelivered", "consumer_num_redelivered",
        "Messages that are being redelivered now. The number of redeliveries: consumer_redeliveries_total."),
    _CONSUMER.same("jetstream_consumer_num_waiting", "consumer_num_waiting", _ONCE),
    _CONSUMER.same("jetstream_consumer_delivered_consumer_seq", "consumer_deliveries_total", _COUNTER),
    _CONSUMER.same("jetstream_consumer_delivered_stream_seq", "consumer_delivered_stream_seq", _FULL),
    _CONSUMER.same("jetstream_consumer_ack_floor_consumer_seq", "consumer_ack_floor_consumer_seq", _FULL),
    _CONSUMER.same("jetstream_consumer_ack_floor_stream_seq", "consumer_ack_floor_stream_seq",
        f"{_FULL} Most queries need consumer_ack_floor_gap instead."),
    _CONSUMER.computed("jetstream_consumer_last_delivery_seconds", "consumer_last_delivery_timestamp_seconds",
        since(series("consumer_last_delivery_timestamp_seconds")),
        f"{_FULL} A timestamp of the exporter's clock; subtract it from `time()`."),
    _CONSUMER.computed("jetstream_consumer_last_ack_seconds", "consumer_last_ack_timestamp_seconds",
        since(series("consumer_last_ack_timestamp_seconds")),
        f"{_FULL} A timestamp of the exporter's clock; subtract it from `time()`."),
)  # fmt: skip

VARZ: Final = (
    _VARZ.same("gnatsd_varz_mem", "server_process_memory_bytes"),
    instead("gnatsd_varz_cpu", "server_cpu_ratio", "A share of all cores; the old one is percent of one core."),
    _VARZ.same("gnatsd_varz_slow_consumers", "server_slow_consumers_total", _COUNTER),
    instead("gnatsd_varz_connections", "server_connections", _EQUAL),
    instead("gnatsd_varz_total_connections", "server_connections_opened_total", _COUNTER),
    instead("gnatsd_varz_subscriptions", "server_subscriptions", _EQUAL),
    instead("gnatsd_varz_routes", "server_routes", _EQUAL),
    instead("gnatsd_varz_leafnodes", "server_leaf_nodes", _EQUAL),
    instead("gnatsd_varz_in_msgs", "server_received_messages_total", _COUNTER),
    instead("gnatsd_varz_in_bytes", "server_received_bytes_total", _COUNTER),
    instead("gnatsd_varz_out_msgs", "server_sent_messages_total", _COUNTER),
    instead("gnatsd_varz_out_bytes", "server_sent_bytes_total", _COUNTER),
    _VARZ.computed("gnatsd_varz_start", "server_start_timestamp_seconds",
        series("server_start_timestamp_seconds") * 1e3, "Seconds; the old one is in milliseconds."),
    _VARZ.same("gnatsd_varz_jetstream_config_max_storage", "server_storage_max_bytes"),
    _VARZ.same("gnatsd_varz_jetstream_config_max_memory", "server_memory_max_bytes"),
    _VARZ.same("gnatsd_varz_jetstream_stats_storage", "server_storage_used_bytes"),
    _VARZ.same("gnatsd_varz_jetstream_stats_memory", "server_memory_used_bytes"),
    _VARZ.same("gnatsd_varz_jetstream_stats_reserved_storage", "server_storage_reserved_bytes"),
    _VARZ.same("gnatsd_varz_jetstream_stats_reserved_memory", "server_memory_reserved_bytes"),
    _VARZ.same("gnatsd_varz_jetstream_stats_ha_assets", "server_ha_assets"),
    _VARZ.same("gnatsd_varz_jetstream_stats_api_total", "server_api_requests_total", _COUNTER),
    _VARZ.same("gnatsd_varz_jetstream_stats_api_errors", "server_api_errors_total", _COUNTER),
    instead("gnatsd_varz_jetstream_stats_api_level", "server_info", "The label `api_level`."),
    instead("gnatsd_varz_jetstream_stats_accounts", "account_streams", "Count its accounts."),
    instead("gnatsd_varz_jetstream_meta_cluster_size", "meta_size", "Once for the system."),
    instead("gnatsd_varz_jetstream_meta_pending", "meta_pending", "Once, from the meta leader."),
    instead("gnatsd_varz_jetstream_meta_leader", "meta_leader", "0 or 1 for each server, no name in a label."),
    instead("gnatsd_varz_version", "server_info", "The label `version`."),
    instead("gnatsd_varz_cluster_name", "server_info", "The label `cluster`."),
    _VARZ.computed("gnatsd_healthz_status", "server_healthy", 1 - series("server_healthy"),
        "1 is healthy. In the old one 0 is."),
    instead("gnatsd_healthz_status_value", "server_healthy", "1 is healthy."),
)  # fmt: skip

NAMES: Final[dict[str, tuple[OldMetric, ...]]] = {
    "Servers": SERVER,
    "Accounts": ACCOUNT,
    "Streams": STREAM,
    "Consumers": CONSUMER,
    "From /varz and /healthz": VARZ,
}

_DETAIL: Final = "Keep the old exporter for them if you need them, without `-jsz`."
FAMILIES: Final = (
    Family("gnatsd_varz_", "Other settings and counters of the process. Keep the old exporter for them."),
    Family("gnatsd_healthz_", "Variants of the health check. There is one here: streamgauge_server_healthy."),
    Family("gnatsd_connz_", f"Single connections. {_DETAIL}"),
    Family("gnatsd_routez_", f"Single routes. {_DETAIL}"),
    Family("gnatsd_subsz_", f"The subscription table; how many: streamgauge_server_subscriptions. {_DETAIL}"),
    Family("gnatsd_gatewayz_", f"Single gateways. {_DETAIL}"),
    Family("gnatsd_leafz_", f"Single leaf nodes. {_DETAIL}"),
    Family("gnatsd_accstatz_", "By account and server: streamgauge_account_connections and the like."),
    Family("gnatsd_accountz_", f"Claims and limits of accounts. {_DETAIL}"),
)  # fmt: skip
