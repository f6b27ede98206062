"""Labels of the metrics, and closed lists of their values."""

from __future__ import annotations

# --- labels: identity only, so that a leader change starts no new series --------------------------

SYSTEM = ("system",)
ACCOUNT = (*SYSTEM, "account")
STREAM = (*ACCOUNT, "stream")
CONSUMER = (*STREAM, "consumer")
SERVER = (*SYSTEM, "server")
# What owners declare in metadata: on an info series only where it is set.
# With a prefix: many scrapes add labels `team`, `owner` or `severity` of their own.
OWNER_LABELS = ("owner_name", "owner_team", "owner_severity", "owner_ignore")
WRITER_LABELS = ("back_pressure", "idempotent_writers")

# --- closed lists: values of labels and of numeric states -----------------------------------------

REQUESTS = (
    "user_info", "account_info", "stream_list", "consumer_list", "account_statz",
    "statsz", "varz", "healthz", "jsz", "jsz_config", "jsz_account", "subsz", "ipqueuesz", "exact_lag", "filtered_counts", "subject_counts",
    "poll", "audit",
)  # fmt: skip

REASONS = (
    "timeout", "no_responders", "permission", "malformed", "size", "api_error", "disconnected",
    "no_jetstream", "no_meta_leader", "other_domain", "http_status", "connection", "threshold",
    "partial", "internal",
)  # fmt: skip

SKIP_REASONS = ("ceiling", "permission", "size")

# The index in the tuple is the value of consumer_verdict.
VERDICTS = (
    "ok",
    "idle",
    "paused",
    "falling behind",
    "no worker pulls / not bound",
    "ack-pending full",
    "redelivery loop",
    "ack floor stuck",
    "losing messages",
    "no leader",
    "stalled",
    "busy with long jobs",
)

# The values of the label `condition`, the gravest first.
STREAM_CONDITIONS = (
    "no_leader", "full", "no_interest", "diverged", "replica_offline", "quorum_at_risk", "mirror_stale",
    "replica_lagging", "filling", "unreachable_messages", "index_damaged", "back_pressure",
)  # fmt: skip
SERVER_CONDITIONS = ("down", "unhealthy", "storage_high", "clock_off")
