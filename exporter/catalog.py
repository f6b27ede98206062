"""The definitions of all metrics. Standard library only.

Rules, dashboards, rollups and the reference use them. To add a metric, add one entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from exporter.metric import PREFIX, DefinitionError, Kind, Level, Metric, Origin, Subject, Unit

FULL = Level.FULL
DERIVED = Origin.DERIVED
EVENT = Origin.EVENT

# --- labels: identity only, so that a leader change starts no new series --------------------------

SYSTEM = ("system",)
ACCOUNT = (*SYSTEM, "account")
STREAM = (*ACCOUNT, "stream")
CONSUMER = (*STREAM, "consumer")
SERVER = (*SYSTEM, "server")

# --- closed lists: values of labels and of numeric states -----------------------------------------

REQUESTS = (
    "user_info", "account_info", "stream_list", "consumer_list", "account_statz",
    "statsz", "varz", "healthz", "jsz", "jsz_config", "jsz_account", "subsz", "ipqueuesz", "exact_lag", "filtered_counts",
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
    "busy with long jobs",
)

# The values of the label `condition`, the gravest first.
STREAM_CONDITIONS = (
    "no_leader", "full", "diverged", "replica_offline", "mirror_stale", "replica_lagging", "filling",
)  # fmt: skip
SERVER_CONDITIONS = ("down", "unhealthy", "storage_high", "clock_off")


def _kind_of(name: str) -> Kind:
    if name.endswith("_total"):
        return Kind.COUNTER
    return Kind.INFO if name.endswith("_info") else Kind.GAUGE


def _unit_of(name: str) -> Unit:
    last_word = name.removesuffix("_total").rpartition("_")[2]
    return Unit(last_word) if last_word in {unit.value for unit in Unit} else Unit.NONE


def _define(
    name: str,
    meaning: str,
    *,
    subject: Subject,
    labels: tuple[str, ...],
    origin: Origin = Origin.RESPONSE,
    level: Level = Level.CORE,
    kind: Kind | None = None,
    source: str = "",
    purpose: str = "",
) -> Metric:
    """Kind and unit follow from the name; only exceptions state them."""
    return Metric(
        name=PREFIX + name,
        kind=kind or _kind_of(name),
        help=meaning,
        labels=labels,
        subject=subject,
        origin=origin,
        level=level,
        unit=_unit_of(name),
        source=source,
        purpose=purpose,
    )


_consumer = partial(_define, subject=Subject.CONSUMER, labels=CONSUMER)
_stream = partial(_define, subject=Subject.STREAM, labels=STREAM)
_server = partial(_define, subject=Subject.SERVER, labels=SERVER)
_meta = partial(_define, subject=Subject.SERVER, labels=SYSTEM)
_account = partial(_define, subject=Subject.ACCOUNT, labels=(*ACCOUNT, "tier"))
_exporter = partial(_define, subject=Subject.EXPORTER, labels=SYSTEM, origin=Origin.SELF)
_archive = partial(_define, subject=Subject.ARCHIVE, labels=(), origin=Origin.ARCHIVE)
_rollup = partial(_define, subject=Subject.ROLLUP, labels=(), origin=Origin.ROLLUP)


def _last_event_of(counter: Metric, *, purpose: str = "") -> Metric:
    """The time of the last event of a counter; both series appear with the first event."""
    counted = counter.name.removeprefix(PREFIX)
    return _define(
        counted.removesuffix("_total") + "_last_event_timestamp_seconds",
        f"Time when the last event of {counted} was seen, on the exporter's clock. Both series "
        "appear with the first event and stay while the system does not respond.",
        subject=counter.subject,
        labels=counter.labels,
        origin=counter.origin,
        level=counter.level,
        purpose=purpose,
    )


# An entry is a name, its help text and one line of facts; the formatter would spread the facts.
# fmt: off

# ==================================================================================================
# Consumer
# ==================================================================================================

CONSUMER_UP = _consumer("consumer_up",
    "1 when the consumer's leader responded in this poll. 0 when the consumer is known but has no "
    "leader, or is listed as missing or offline; it then has no other series than its info. "
    "Absent when its row in the response is malformed.",
    source="consumer info: cluster.leader")

# --- pending messages and lag ---------------------------------------------------------------------

CONSUMER_NUM_PENDING = _consumer("consumer_num_pending",
    "Messages that match the consumer's filter and were not delivered yet. "
    "Messages in flight do not count: see consumer_num_ack_pending.",
    source="consumer info: num_pending")
CONSUMER_NUM_ACK_PENDING = _consumer("consumer_num_ack_pending",
    "Messages that were delivered and are not acknowledged yet. "
    "At consumer_max_ack_pending the server stops delivering.",
    source="consumer info: num_ack_pending")
CONSUMER_NUM_REDELIVERED = _consumer("consumer_num_redelivered",
    "Messages that were delivered more than once and are not acknowledged. Not a counter: an "
    "acknowledgement lowers it, and messages that reached max_deliver stay in it. "
    "Servers from 2.11.4 on report 0 when max_deliver is 1.",
    source="consumer info: num_redelivered")
CONSUMER_NUM_WAITING = _consumer("consumer_num_waiting",
    "Pull requests that wait at the server for messages. A pull consumer that stays at 0 with "
    "messages pending has no worker. Always 0 for push consumers.",
    source="consumer info: num_waiting")
CONSUMER_BACKLOG_MESSAGES = _consumer("consumer_backlog_messages",
    "Messages that this consumer has not finished: pending plus unacknowledged. "
    "It respects the consumer's filter.",
    level=FULL, source="consumer info: num_pending, num_ack_pending",
    purpose="For autoscalers, which need one number for the work of a consumer.")
CONSUMER_LAG_SECONDS = _consumer("consumer_lag_seconds",
    "Age of the oldest message that this consumer has not finished. Messages that reached "
    "max_deliver do not count. 0 when it is caught up; absent when the age is unknown. A filtered "
    "consumer may be less behind, unless consumer_lag_exact is 1: the first message after its "
    "position may be one that it does not want.",
    origin=DERIVED)
CONSUMER_LAG_EXACT = _consumer("consumer_lag_exact",
    "1 when consumer_lag_seconds comes from the message itself, 0 when it is interpolated "
    "between the stream's first and last message.",
    level=FULL, origin=DERIVED)
CONSUMER_RETENTION_HEADROOM_SECONDS = _consumer("consumer_retention_headroom_seconds",
    "Time until the first unfinished message expires by the stream's max_age: max_age minus lag. "
    "Absent when the stream has no max_age or the consumer is caught up.",
    origin=DERIVED)
CONSUMER_RETENTION_HEADROOM_RATIO = _consumer("consumer_retention_headroom_ratio",
    "Position of the first unfinished message in a full stream: at 0 it is removed next, at 1 it "
    "is the newest. Only on discard-old streams that are over 90 % full in bytes or "
    "messages; absent otherwise.",
    origin=DERIVED)

# --- position and ack floor -----------------------------------------------------------------------

CONSUMER_DELIVERIES = _consumer("consumer_deliveries_total",
    "Deliveries by this consumer, redeliveries included. "
    "It restarts at 0 when the consumer is recreated or reset.",
    source="consumer info: delivered.consumer_seq")
CONSUMER_DELIVERED_STREAM_SEQ = _consumer("consumer_delivered_stream_seq",
    "Highest stream sequence delivered. A redelivery does not lower it, a purge can raise "
    "it. On a filtered consumer its distance to the last sequence is not the backlog.",
    level=FULL, source="consumer info: delivered.stream_seq")
CONSUMER_ACK_FLOOR_STREAM_SEQ = _consumer("consumer_ack_floor_stream_seq",
    "Stream sequence up to which everything is acknowledged, as the server reports it. "
    "A message that reached max_deliver holds it.",
    level=FULL, source="consumer info: ack_floor.stream_seq",
    purpose="For an engineer who reads the message above the floor with nats stream get.")
CONSUMER_ACK_FLOOR_CONSUMER_SEQ = _consumer("consumer_ack_floor_consumer_seq",
    "Delivery number up to which everything is acknowledged, as the server reports it. "
    "A message that reached max_deliver holds it.",
    level=FULL, source="consumer info: ack_floor.consumer_seq",
    purpose="For an engineer who compares it with the output of nats consumer info.")
CONSUMER_ACK_FLOOR_GAP = _consumer("consumer_ack_floor_gap",
    "Stream sequences between the ack floor and the last delivery; 0 when nothing is unacked. "
    "On a filtered consumer it also counts messages of other subjects. One exhausted message can "
    "keep it open: see consumer_ack_floor_exhausted.",
    source="consumer info: delivered.stream_seq, ack_floor.stream_seq")
CONSUMER_ACK_FLOOR_GAP_DELIVERIES = _consumer("consumer_ack_floor_gap_deliveries",
    "Deliveries between the ack floor and the last delivery; 0 when nothing is unacked. "
    "Use it for filtered consumers.",
    source="consumer info: delivered.consumer_seq, ack_floor.consumer_seq")
CONSUMER_ACK_FLOOR_GAP_RATIO = _consumer("consumer_ack_floor_gap_ratio",
    "Ratio of consumer_ack_floor_gap_deliveries to max_ack_pending; above 1 when later messages "
    "were acknowledged out of order. Absent when max_ack_pending is unlimited.",
    level=FULL,
    source="consumer info: delivered.consumer_seq, ack_floor.consumer_seq, config.max_ack_pending",
    purpose="For own alert rules over consumers with different max_ack_pending.")
CONSUMER_ACK_FLOOR_STALLED_SECONDS = _consumer("consumer_ack_floor_stalled_seconds",
    "Time since the ack floor last moved while messages are unacknowledged, else 0. "
    "At the exporter's start it counts from the server's own times, else from the first poll.",
    origin=DERIVED)
CONSUMER_ACK_FLOOR_EXHAUSTED = _consumer("consumer_ack_floor_exhausted",
    "1 when messages that reached max_deliver certainly hold the ack floor: an advisory named the "
    "message above the floor, nothing is unacknowledged, or more messages were redelivered than "
    "are unacknowledged. Else 0; absent without max_deliver. At 1 the gap is not work in progress.",
    origin=DERIVED)
CONSUMER_BLOCKING_STREAM_SEQ = _consumer("consumer_blocking_stream_seq",
    "Stream sequence of the first message that this consumer has not finished. "
    "Absent unless consumer_lag_exact is 1.",
    level=FULL, origin=DERIVED)
CONSUMER_LAST_DELIVERY_TIMESTAMP_SECONDS = _consumer("consumer_last_delivery_timestamp_seconds",
    "Time of the consumer's last delivery, on the exporter's clock; a delayed nak or an in-progress "
    "ack also counts. Absent when the server does not know it, for example after a restart.",
    level=FULL, source="consumer info: delivered.last_active")
CONSUMER_LAST_ACK_TIMESTAMP_SECONDS = _consumer("consumer_last_ack_timestamp_seconds",
    "Time of the last acknowledgement of any message, on the exporter's clock. It is not the time "
    "when the ack floor last moved. Absent when the server does not know it, for example after a "
    "restart.",
    level=FULL, source="consumer info: ack_floor.last_active")

# --- faults ---------------------------------------------------------------------------------------

CONSUMER_VERDICT = _consumer("consumer_verdict",
    "The first that holds of: 9 no leader, 2 paused, 8 losing messages, 5 ack-pending full, "
    "6 redelivery loop, 7 ack floor stuck, 4 no worker pulls or not bound, 3 falling behind, "
    "10 busy with long jobs, 1 idle, 0 ok. Absent before two polls. The numbers are identifiers, "
    "not a scale.",
    origin=DERIVED)
CONSUMER_CONDITION_START_TIMESTAMP_SECONDS = _consumer(
    "consumer_condition_start_timestamp_seconds",
    "Time since when a condition of the consumer holds, on the exporter's clock. Present only "
    "while it holds. Conditions are judged one by one: several may hold at once.",
    labels=(*CONSUMER, "condition"), origin=DERIVED,
    purpose="For rules: time() minus this is how long the consumer is unwell.")
CONSUMER_STALLED_SECONDS = _consumer("consumer_stalled_seconds",
    "Time with messages pending and without any delivery. 0 when paused or caught up. "
    "At the exporter's start it counts from the server's own times, else from the first poll.",
    origin=DERIVED)
CONSUMER_REDELIVERIES = _consumer("consumer_redeliveries_total",
    "Deliveries that were not the first of their message, since the exporter started. "
    "A lower bound where consumer_redelivery_exact is 0.",
    origin=DERIVED)
CONSUMER_REDELIVERY_RATIO = _consumer("consumer_redelivery_ratio",
    "Share of redeliveries among the deliveries of the last five minutes. "
    "Absent without deliveries. For dashboards; rules use the counters over a longer time.",
    origin=DERIVED)
CONSUMER_REDELIVERY_EXACT = _consumer("consumer_redelivery_exact",
    "1 when the count of redeliveries is exact, 0 when it is a lower bound because the consumer "
    "is filtered or the stream has gaps.",
    level=FULL, origin=DERIVED)
CONSUMER_REDELIVERY_CAUSE = _consumer("consumer_redelivery_cause",
    "Why messages are redelivered: 1 acknowledged too late, 2 nak, 3 not acknowledged, "
    "4 a few messages in a loop. Absent without acknowledgement counts and advisories.",
    level=FULL, origin=DERIVED)
CONSUMER_EXHAUSTED_MESSAGES = _consumer("consumer_exhausted_messages",
    "Messages that reached max_deliver and are still in the stream: they are not delivered "
    "again. A lower bound, exact when nothing is unacked. Absent when max_deliver is unlimited "
    "or 1. Servers before 2.12.9 and 2.14.1 also count deleted messages.",
    source="consumer info: num_redelivered, num_ack_pending, config.max_deliver")
CONSUMER_EXHAUSTED = _consumer("consumer_exhausted_total",
    "Messages given up after max_deliver deliveries, from advisories. The series appears with "
    "the first event. For a pull consumer the server sends the advisory at the next pull.",
    origin=EVENT)
CONSUMER_EXHAUSTED_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(CONSUMER_EXHAUSTED)
CONSUMER_LAST_EXHAUSTED_STREAM_SEQ = _consumer("consumer_last_exhausted_stream_seq",
    "Stream sequence of the last message that reached max_deliver, from advisories. "
    "Absent before the first event.",
    level=FULL, origin=EVENT,
    purpose="For an engineer who copies the abandoned message with nats stream get.")
CONSUMER_DEAD_LETTER_CAPTURED = _consumer("consumer_dead_letter_captured",
    "1 when a stream of the account or a subscriber receives this consumer's MAX_DELIVERIES "
    "advisories, else 0. Only for consumers with a finite max_deliver.",
    level=FULL, origin=DERIVED)
CONSUMER_LOST_MESSAGES = _consumer("consumer_lost_messages_total",
    "Messages that limits removed before their first delivery to this consumer, since the exporter "
    "started: at least. Without purges and without messages that are overwritten by design "
    "(messages per subject, message TTL, key-value and object streams). The series appears with "
    "the first loss.",
    origin=DERIVED)
CONSUMER_LOST_MESSAGES_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(CONSUMER_LOST_MESSAGES)
CONSUMER_LOST_MESSAGES_UPPER = _consumer("consumer_lost_messages_upper_total",
    "Messages that limits removed before their first delivery to this consumer, since the exporter "
    "started: at most. Equal to consumer_lost_messages_total where the count is exact. The series "
    "appears with the first possible loss.",
    origin=DERIVED,
    purpose="For an engineer who wants to know how much a filtered consumer may have lost.")
CONSUMER_LOST_MESSAGES_UPPER_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(
    CONSUMER_LOST_MESSAGES_UPPER,
    purpose="For own rules about messages that were probably lost.")
CONSUMER_LOST_WAITING_MESSAGES = _consumer("consumer_lost_waiting_messages",
    "Messages that were removed from the stream and that this consumer has not skipped "
    "yet: they count as lost when its position moves.",
    level=FULL, origin=DERIVED,
    purpose="For an engineer who wants to know how much of the loss is still ahead of the consumer.")
CONSUMER_LOST_EXACT = _consumer("consumer_lost_exact",
    "1 when the count of lost messages is exact over the last five minutes, 0 when the lower and the "
    "upper bound moved differently.",
    level=FULL, origin=DERIVED)
CONSUMER_PURGED_MESSAGES = _consumer("consumer_purged_messages_total",
    "Messages that a purge removed before their first delivery to this consumer, since the exporter "
    "started: at least. A purge is deliberate, so it is not a loss.",
    level=FULL, origin=DERIVED)
CONSUMER_PURGED_MESSAGES_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(CONSUMER_PURGED_MESSAGES,
    purpose="For own rules: an event counts even if its counter began with it.")
CONSUMER_AHEAD_OF_STREAM_MESSAGES = _consumer("consumer_ahead_of_stream_messages",
    "How far the consumer's position in the previous poll is beyond the stream's last sequence: "
    "the stream went back, by data loss, rollback or restore. Present only while above 0.",
    origin=DERIVED)
CONSUMER_RECREATED = _consumer("consumer_recreated_total",
    "Times that the consumer was recreated (its creation time changed by more than a second) "
    "or its sequence was reset, since the exporter started.",
    origin=DERIVED)
CONSUMER_RECREATED_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(CONSUMER_RECREATED)
CONSUMER_LEADER_CHANGES = _consumer("consumer_leader_changes_total",
    "Leader changes of this consumer, since the exporter started. "
    "Two elections between two polls count once.",
    level=FULL, origin=DERIVED)
CONSUMER_LEADER_CHANGES_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(CONSUMER_LEADER_CHANGES,
    purpose="For own rules: an event counts even if its counter began with it.")

# --- clients and subscriptions --------------------------------------------------------------------

CONSUMER_ACKS = _consumer("consumer_acks_total",
    "Acknowledgements of all types that the server received for this consumer: ack, nak, in "
    "progress and term. Absent with the account source, and where the request is skipped.",
    level=FULL, origin=DERIVED)
CONSUMER_PULLS = _consumer("consumer_pulls_total",
    "Pull requests that the server received for this consumer. A rate of 0 means that no worker "
    "pulls. Absent with the account source, and where the request is skipped.",
    level=FULL, origin=DERIVED)
CONSUMER_NAKS = _consumer("consumer_naks_total",
    "Negative acknowledgements (nak) of clients, from advisories. "
    "The series appears with the first event; without advisories it is absent.",
    origin=EVENT)
CONSUMER_TERMS = _consumer("consumer_terms_total",
    "Messages that were terminated, from advisories: by the client, by stream limits, by a delete "
    "(also by limits while the message was in flight), or unknown where the server gives no "
    "reason. The series appears with the first event.",
    labels=(*CONSUMER, "by"), level=FULL, origin=EVENT)
CONSUMER_ACK_SECONDS = _consumer("consumer_ack_seconds",
    "Time from a message's last delivery to its acknowledgement, from the server's ack samples. "
    "It restarts at each redelivery. Only for consumers with sample_freq set.",
    kind=Kind.HISTOGRAM, level=FULL, origin=EVENT)
CONSUMER_PAUSED = _consumer("consumer_paused",
    "1 while the consumer is paused, 0 after a pause. A consumer that was never paused has no "
    "series. Messages accumulate during a pause.",
    source="consumer info: paused")
CONSUMER_PAUSE_REMAINING_SECONDS = _consumer("consumer_pause_remaining_seconds",
    "Time until the pause ends. Present only during a pause.",
    level=FULL, source="consumer info: pause_remaining",
    purpose="For an engineer who wants to know when a paused consumer resumes.")
CONSUMER_PUSH_BOUND = _consumer("consumer_push_bound",
    "1 when a subscriber is bound to the delivery subject of this push consumer, else 0. "
    "Pull consumers have no series.",
    source="consumer info: push_bound")

# --- configuration, replicas, owner's limits ------------------------------------------------------

CONSUMER_MAX_ACK_PENDING = _consumer("consumer_max_ack_pending",
    "Configured limit of unacknowledged messages. Absent when unlimited.",
    source="consumer info: config.max_ack_pending")
CONSUMER_ACK_WAIT_SECONDS = _consumer("consumer_ack_wait_seconds",
    "Configured time after which an unacknowledged message is redelivered. "
    "A backoff replaces it.",
    source="consumer info: config.ack_wait")
CONSUMER_MAX_DELIVER = _consumer("consumer_max_deliver",
    "Configured number of deliveries after which a message is given up. Absent when unlimited.",
    source="consumer info: config.max_deliver")
CONSUMER_MAX_WAITING = _consumer("consumer_max_waiting",
    "Configured limit of waiting pull requests. Pull consumers only; absent when unlimited.",
    level=FULL, source="consumer info: config.max_waiting")
CONSUMER_BACKOFF_STEPS = _consumer("consumer_backoff_steps",
    "Number of configured waits between redeliveries. Absent when no backoff is set.",
    level=FULL, source="consumer info: config.backoff")
CONSUMER_RETRY_HORIZON_SECONDS = _consumer("consumer_retry_horizon_seconds",
    "Sum of the waits before the last delivery of a message: how long the server retries before "
    "it gives up. Absent when max_deliver is unlimited.",
    level=FULL, source="consumer info: config.ack_wait, config.backoff, config.max_deliver")
CONSUMER_REPLICA_LAG = _consumer("consumer_replica_lag",
    "Raft entries that this replica of the consumer is behind, as its leader reports.",
    labels=(*CONSUMER, "server"), level=FULL,
    source="consumer info: cluster.replicas[].lag",
    purpose="For an operator who checks before a restart that a replica can take over.")
CONSUMER_REPLICA_OFFLINE = _consumer("consumer_replica_offline",
    "1 when the consumer's leader reports this replica as offline, else 0.",
    labels=(*CONSUMER, "server"), level=FULL,
    source="consumer info: cluster.replicas[].offline")
CONSUMER_THRESHOLD = _consumer("consumer_threshold",
    "A limit that the owner set in the consumer's metadata under io.nats.monitor. The label "
    "limit is the rest of the key; durations are seconds, booleans 0 or 1. "
    "An unreadable value has no series and is counted in poll_errors_total.",
    labels=(*CONSUMER, "limit"), source="consumer info: config.metadata")
CONSUMER_CONFIG_FINDING = _consumer("consumer_config_finding",
    "1 for each audit check that this consumer's configuration fails. "
    "The label check is the permanent code of the check.",
    labels=(*CONSUMER, "check", "severity"), kind=Kind.INFO, level=FULL, origin=DERIVED)
CONSUMER_INFO = _consumer("consumer_info",
    "Properties of the consumer as labels; the value is always 1. A leader change or an edit starts "
    "a new series, so join on the identity labels only.",
    labels=(*CONSUMER, "durable", "kind", "ack_policy", "deliver_policy", "replay_policy",
            "filtered", "priority_policy", "flow_control", "leader", "replicas"),
    source="consumer info: config, cluster")

# ==================================================================================================
# Stream
# ==================================================================================================

STREAM_UP = _stream("stream_up",
    "1 when the stream's leader responded in this poll. 0 when the stream is known but has no "
    "leader, or is listed as missing or offline; it then has no other series than its info. "
    "Absent when its row in the response is malformed.",
    source="stream info: cluster.leader")

STREAM_CONDITION_START_TIMESTAMP_SECONDS = _stream("stream_condition_start_timestamp_seconds",
    "Time since when a condition of the stream holds, on the exporter's clock. Present only while "
    "it holds. The label condition is no_leader, full (discard new, at its limit), diverged, "
    "replica_offline (as the leader reports it, or its server does not respond), mirror_stale, "
    "replica_lagging or filling (full within hours).",
    labels=(*STREAM, "condition"), origin=DERIVED,
    purpose="For rules: time() minus this is how long the stream is unwell.")

# --- contents -------------------------------------------------------------------------------------

STREAM_MESSAGES = _stream("stream_messages",
    "Messages in the stream now.",
    source="stream info: state.messages")
STREAM_BYTES = _stream("stream_bytes",
    "Size of the messages in the stream now, for one replica, as the server counts it. "
    "The size on disk can be larger, or smaller with compression.",
    source="stream info: state.bytes")
STREAM_SUBJECTS = _stream("stream_subjects",
    "Distinct subjects among the messages in the stream now. "
    "Absent where the response does not contain it.",
    source="stream info: state.num_subjects")
STREAM_CONSUMERS = _stream("stream_consumers",
    "Consumers of the stream as the server counts them, ephemeral ones included.",
    source="stream info: state.consumer_count")
STREAM_EPHEMERAL_CONSUMERS = _stream("stream_ephemeral_consumers",
    "Consumers of the stream without a durable name. Above a limit they share the series with "
    "consumer=\"_ephemeral\", which hold their sums.",
    source="consumer info: config.durable_name")
STREAM_DELETED_MESSAGES = _stream("stream_deleted_messages",
    "Gaps in the sequence: messages removed between the first and the last one.",
    source="stream info: state.num_deleted")
STREAM_LOST_MESSAGES = _stream("stream_lost_messages",
    "Messages that the server found damaged or missing in its store. "
    "For messages that retention removed before delivery see consumer_lost_messages_total.",
    source="stream info: state.lost.msgs")
STREAM_FIRST_SEQ = _stream("stream_first_seq",
    "Sequence of the oldest message; in an empty stream, of the next one.",
    source="stream info: state.first_seq")
STREAM_STORED_MESSAGES = _stream("stream_stored_messages_total",
    "Messages stored since the stream was created: its last sequence. "
    "On interest streams without consumers it grows although no message is kept.",
    source="stream info: state.last_seq")
STREAM_FIRST_TIMESTAMP_SECONDS = _stream("stream_first_timestamp_seconds",
    "Time when the oldest message was stored, on the exporter's clock. Absent when the stream is "
    "empty or the clock offset of its leader is unknown.",
    source="stream info: state.first_ts")
STREAM_LAST_TIMESTAMP_SECONDS = _stream("stream_last_timestamp_seconds",
    "Time when the newest message was stored, on the exporter's clock. Absent when the stream is "
    "empty or the clock offset of its leader is unknown.",
    source="stream info: state.last_ts")

# --- configuration --------------------------------------------------------------------------------

STREAM_MAX_BYTES = _stream("stream_max_bytes",
    "Configured limit of the stream's size. Absent when unlimited.",
    source="stream info: config.max_bytes")
STREAM_MAX_MESSAGES = _stream("stream_max_messages",
    "Configured limit of messages in the stream. Absent when unlimited.",
    source="stream info: config.max_msgs")
STREAM_MAX_AGE_SECONDS = _stream("stream_max_age_seconds",
    "Configured age at which messages expire. Absent when they never do.",
    source="stream info: config.max_age")
STREAM_MAX_CONSUMERS = _stream("stream_max_consumers",
    "Configured limit of consumers. Absent when unlimited.",
    source="stream info: config.max_consumers")
STREAM_MAX_MESSAGES_PER_SUBJECT = _stream("stream_max_messages_per_subject",
    "Configured limit of messages per subject; older ones are overwritten by design. "
    "Absent when unlimited.",
    source="stream info: config.max_msgs_per_subject")
STREAM_DUPLICATE_WINDOW_SECONDS = _stream("stream_duplicate_window_seconds",
    "Configured time in which a second publish with the same message id is rejected as a "
    "duplicate. Absent when it is off.",
    source="stream info: config.duplicate_window")
STREAM_REPLICAS = _stream("stream_replicas",
    "Configured number of replicas. stream_replica_lag shows which are current.",
    source="stream info: config.num_replicas")
STREAM_FILL_RATIO = _stream("stream_fill_ratio",
    "Used share of the limit in the label: bytes, messages, age or consumers. "
    "Absent for a limit that is not set. A stream that removes old messages by design stays "
    "near 1.",
    labels=(*STREAM, "limit"), source="stream info: state, config")

# --- publishes ------------------------------------------------------------------------------------

STREAM_PUBLISHES_RECEIVED = _stream("stream_publishes_received_total",
    "Publishes that reached the stream, stored or not, since the exporter started. "
    "Absent with the account source, and where the request is skipped.",
    origin=DERIVED)
STREAM_PUBLISHES_UNSTORED = _stream("stream_publishes_unstored_total",
    "Publishes that reached the stream and were not stored: duplicates and rejections, "
    "since the exporter started. Absent with the account source, for mirrors, and for streams "
    "with sources, delete markers or schedules.",
    origin=DERIVED)
STREAM_DEDUPE_HITS = _stream("stream_dedupe_hits_total",
    "Publishes that the server rejected as duplicates, since the exporter started. Exact with the "
    "publish-ack tap; without it an upper bound that includes rejections. "
    "See stream_dedupe_exact.",
    origin=DERIVED)
STREAM_DEDUPE_EXACT = _stream("stream_dedupe_exact",
    "1 when duplicates are counted from acknowledgements, 0 when they are the upper bound from "
    "unstored publishes.",
    origin=DERIVED)
STREAM_DEDUPE_WINDOW_MESSAGES = _stream("stream_dedupe_window_messages",
    "Messages stored within the duplicate window, an estimate. The server holds at most as many "
    "message ids, and none for messages without an id. Servers do not report the number of ids.",
    origin=DERIVED)
STREAM_PUBLISH_REJECTIONS = _stream("stream_publish_rejections_total",
    "Publishes that the server rejected with an error, by error code. "
    "Only the publish-ack tap receives them; servers do not count them. Absent without the tap.",
    labels=(*STREAM, "code"), origin=EVENT)

# --- changes --------------------------------------------------------------------------------------

STREAM_SEQUENCE_REGRESSIONS = _stream("stream_sequence_regressions_total",
    "Times that the last sequence went back without a new creation time: messages that were "
    "acknowledged to their publishers are lost. Counted since the exporter started.",
    origin=DERIVED)
STREAM_SEQUENCE_REGRESSIONS_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(
    STREAM_SEQUENCE_REGRESSIONS)
STREAM_RECREATED = _stream("stream_recreated_total",
    "Times that the stream was recreated (its creation time changed by more than a second), "
    "since the exporter started.",
    origin=DERIVED)
STREAM_RECREATED_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(STREAM_RECREATED)
STREAM_LEADER_CHANGES = _stream("stream_leader_changes_total",
    "Leader changes of this stream, since the exporter started. "
    "Two elections between two polls count once.",
    origin=DERIVED)
STREAM_LEADER_CHANGES_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(STREAM_LEADER_CHANGES)
STREAM_RESTORES = _stream("stream_restores_total",
    "Times that this stream was restored from a backup, from advisories. The series appears with "
    "the first event.",
    origin=EVENT)
STREAM_RESTORES_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(STREAM_RESTORES)
STREAM_CONSUMERS_REMOVED = _stream("stream_consumers_removed_total",
    "Durable consumers that were in the last complete response and are gone now, since the "
    "exporter started. An incomplete response counts no removal.",
    origin=DERIVED)
STREAM_CONSUMERS_REMOVED_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(STREAM_CONSUMERS_REMOVED)
STREAM_PURGED_MESSAGES = _stream("stream_purged_messages_total",
    "Messages removed by purges, since the exporter started.",
    origin=DERIVED)
STREAM_PURGED_MESSAGES_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(STREAM_PURGED_MESSAGES)
STREAM_QUORUM_LOST = _stream("stream_quorum_lost_total",
    "Times that the stream lost its quorum and could not store messages, from advisories. "
    "The series appears with the first event.",
    origin=EVENT)
STREAM_QUORUM_LOST_LAST_EVENT_TIMESTAMP_SECONDS = _last_event_of(STREAM_QUORUM_LOST,
    purpose="For own rules: an event counts even if its counter began with it.")

# --- replicas, mirror and sources -----------------------------------------------------------------

STREAM_REPLICA_LAG = _stream("stream_replica_lag",
    "Raft entries that this replica is behind, as the stream's leader reports.",
    labels=(*STREAM, "server"), source="stream info: cluster.replicas[].lag")
STREAM_REPLICA_OFFLINE = _stream("stream_replica_offline",
    "1 when the stream's leader reports this replica as offline, else 0.",
    labels=(*STREAM, "server"), source="stream info: cluster.replicas[].offline")
STREAM_REPLICA_ACTIVE_SECONDS = _stream("stream_replica_active_seconds",
    "Time since this replica was last active, as the stream's leader reports. "
    "Absent when it never was.",
    labels=(*STREAM, "server"), source="stream info: cluster.replicas[].active")
STREAM_REPLICA_DIVERGENCE_MESSAGES = _stream("stream_replica_divergence_messages",
    "Difference between this follower's message count and the leader's, although the leader "
    "reports no lag: the replicas differ. Present only while above 0, and only with the "
    "system or monitor source.",
    labels=(*STREAM, "server"), origin=DERIVED)
STREAM_SOURCE_LAG = _stream("stream_source_lag",
    "Messages that this mirror or source is behind its origin, as of the last contact: see also "
    "stream_source_active_seconds. Only for streams with a mirror or sources.",
    labels=(*STREAM, "source"), source="stream info: mirror.lag, sources[].lag")
STREAM_SOURCE_ACTIVE_SECONDS = _stream("stream_source_active_seconds",
    "Time since the mirror or source was last active. Absent when it never was.",
    labels=(*STREAM, "source"), source="stream info: mirror.active, sources[].active")
STREAM_SOURCE_ERROR = _stream("stream_source_error",
    "1 when the mirror or source reports an error, else 0.",
    labels=(*STREAM, "source"), source="stream info: mirror.error, sources[].error")

# --- owner's limits, findings, identity -----------------------------------------------------------

STREAM_THRESHOLD = _stream("stream_threshold",
    "A limit that the owner set in the stream's metadata under io.nats.monitor. The label "
    "limit is the rest of the key; durations are seconds, booleans 0 or 1. "
    "An unreadable value has no series and is counted in poll_errors_total.",
    labels=(*STREAM, "limit"), source="stream info: config.metadata")
STREAM_CONFIG_FINDINGS = _stream("stream_config_findings",
    "How many assets of this stream, itself and its consumers, fail this audit check. "
    "The label check is the permanent code of the check.",
    labels=(*STREAM, "check", "severity"), origin=DERIVED)
STREAM_INFO = _stream("stream_info",
    "Properties of the stream as labels; the value is always 1. A leader change or an edit starts "
    "a new series, so join on the identity labels only.",
    labels=(*STREAM, "retention", "discard", "storage", "compression", "kind", "leader",
            "raft_group", "replicas", "mirror"),
    source="stream info: config, cluster")

# ==================================================================================================
# Server
# ==================================================================================================

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
    labels=(*SERVER, "condition"), origin=DERIVED,
    purpose="For rules: time() minus this is how long the server is unwell.")

# --- clock ----------------------------------------------------------------------------------------

SERVER_CLOCK_OFFSET_SECONDS = _server("server_clock_offset_seconds",
    "Server clock minus exporter clock; positive when the server is ahead. Taken from the recent "
    "sample with the smallest uncertainty: see server_clock_uncertainty_seconds.",
    origin=DERIVED)
SERVER_CLOCK_UNCERTAINTY_SECONDS = _server("server_clock_uncertainty_seconds",
    "Maximum error of the clock offset: half the round trip of its sample plus the possible drift "
    "since then (50 ppm).",
    origin=DERIVED)
SERVER_ROUND_TRIP_SECONDS = _server("server_round_trip_seconds",
    "Shortest time from a request to this server's response among the last samples. "
    "It includes the server's processing time.",
    origin=DERIVED)

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
    source="jsz: meta_cluster.cluster_size")
META_PENDING = _meta("meta_pending",
    "Operations that the meta leader has not applied yet.",
    source="jsz: meta_cluster.pending")
META_REPLICA_OFFLINE = _meta("meta_replica_offline",
    "1 when the meta leader reports this server as offline, else 0.",
    labels=SERVER, source="jsz: meta_cluster.replicas[].offline")
META_REPLICA_LAG = _meta("meta_replica_lag",
    "Raft entries that this server is behind the meta leader, as the leader reports.",
    labels=SERVER, source="jsz: meta_cluster.replicas[].lag")
META_SNAPSHOT_SECONDS = _meta("meta_snapshot_seconds",
    "Duration of the meta leader's last snapshot. "
    "Absent on servers that do not report it, and before the first snapshot.",
    source="jsz: meta_cluster.snapshot.last_duration")

# ==================================================================================================
# Account
# ==================================================================================================

# JSZ calls an account's limit "reserved", and each server reports the usage of the whole system.

ACCOUNT_STORAGE_USED_BYTES = _account("account_storage_used_bytes",
    "File storage that the account uses in the whole system, replicas included. "
    "The label tier is empty where limits are not tiered.",
    source="account info: storage, tiers; jsz: account_details[].storage")
ACCOUNT_STORAGE_RESERVED_BYTES = _account("account_storage_reserved_bytes",
    "File storage reserved for the account's streams by their max_bytes, used or not. "
    "Absent where the response does not contain it.",
    source="account info: reserved_storage, tiers")
ACCOUNT_STORAGE_LIMIT_BYTES = _account("account_storage_limit_bytes",
    "File storage that the account may use. Absent when unlimited.",
    source="account info: limits.max_storage, tiers; jsz: account_details[].reserved_storage")
ACCOUNT_MEMORY_USED_BYTES = _account("account_memory_used_bytes",
    "Memory storage that the account uses in the whole system, replicas included. "
    "The label tier is empty where limits are not tiered.",
    source="account info: memory, tiers; jsz: account_details[].memory")
ACCOUNT_MEMORY_RESERVED_BYTES = _account("account_memory_reserved_bytes",
    "Memory storage reserved for the account's streams by their max_bytes, used or not. "
    "Absent where the response does not contain it.",
    source="account info: reserved_memory, tiers")
ACCOUNT_MEMORY_LIMIT_BYTES = _account("account_memory_limit_bytes",
    "Memory storage that the account may use. Absent when unlimited.",
    source="account info: limits.max_memory, tiers; jsz: account_details[].reserved_memory")
ACCOUNT_STREAMS = _account("account_streams",
    "Streams of the account.",
    source="account info: streams, tiers")
ACCOUNT_CONSUMERS = _account("account_consumers",
    "Consumers of the account, over all its streams.",
    source="account info: consumers, tiers")
ACCOUNT_STREAMS_LIMIT = _account("account_streams_limit",
    "Streams that the account may have. Absent when unlimited.",
    source="account info: limits.max_streams, tiers")
ACCOUNT_CONSUMERS_LIMIT = _account("account_consumers_limit",
    "Consumers that the account may have. Absent when unlimited.",
    source="account info: limits.max_consumers, tiers")
ACCOUNT_API_REQUESTS = _account("account_api_requests_total",
    "JetStream API requests of the account, the exporter's own included. "
    "Publishes and acknowledgements are not API requests.",
    labels=ACCOUNT, source="account info: api.total")
ACCOUNT_API_ERRORS = _account("account_api_errors_total",
    "JetStream API requests of the account that failed. "
    "Rejected publishes do not count.",
    labels=ACCOUNT, source="account info: api.errors")
ACCOUNT_SLOW_CONSUMERS = _account("account_slow_consumers_total",
    "Client connections of the account that this server closed because they did not read fast "
    "enough. Not related to JetStream consumers.",
    labels=(*ACCOUNT, "server"), source="account statz: account_statz[].slow_consumers")
ADVISORIES = _account("advisories_total",
    "JetStream advisories received, by kind: the last tokens of their subject. They are delivered "
    "at most once and only while subscribed: see advisories_connected_timestamp_seconds.",
    labels=(*ACCOUNT, "kind"), origin=EVENT)

# ==================================================================================================
# Exporter
# ==================================================================================================

UP = _exporter("up",
    "1 when every request of the last poll got a complete response. Do not use it as a guard in a "
    "rule: it is 0 when a server is down. Use snapshot_age_seconds.")
SNAPSHOT_AGE_SECONDS = _exporter("snapshot_age_seconds",
    "Age of the data served for this system. After three poll intervals the measured series are "
    "dropped. Use it as the guard in rules.")
POLL_DURATION_SECONDS = _exporter("poll_duration_seconds",
    "Duration of the last poll, from its first request to the rendered exposition.")
POLL_ERRORS = _exporter("poll_errors_total",
    "Errors while polling, by request and by reason from a closed list. "
    "A reason that never occurred has no series.",
    labels=(*SYSTEM, "request", "reason"))
SERVERS_EXPECTED = _exporter("servers_expected",
    "Servers that should respond: the configured number, else the maximum of the last hour.")
SERVERS_RESPONDING = _exporter("servers_responding",
    "Servers that responded in the last poll.")
REQUEST_SUCCESS = _exporter("request_success",
    "1 when the request got a complete response in the last poll that made it, else 0. "
    "Series that depend on a failed request are absent.",
    labels=(*SYSTEM, "request"))
REQUEST_DURATION_SECONDS = _exporter("request_duration_seconds",
    "Duration of the request in the last poll that made it, successful or not.",
    labels=(*SYSTEM, "request"))
REQUEST_SKIPPED = _exporter("request_skipped",
    "1 while a request is skipped on purpose: it would cost the server too much (ceiling), is "
    "not permitted (permission), or its response would be too large (size).",
    labels=(*SYSTEM, "request", "reason"))
PUBLISH_ACK_TAP_ACTIVE = _exporter("publish_ack_tap_active",
    "1 while the publish-ack tap is subscribed, 0 when it is configured and is not. "
    "Absent when it is not configured.",
    origin=EVENT)
PUBLISH_ACK_TAP_DROPPED = _exporter("publish_ack_tap_dropped_total",
    "Messages that the publish-ack tap dropped because it was too slow. While it grows, counts of "
    "duplicates and rejections are too low.",
    origin=EVENT)
ADVISORIES_CONNECTED_TIMESTAMP_SECONDS = _exporter("advisories_connected_timestamp_seconds",
    "Time since when advisories have been received without interruption. "
    "Absent while not subscribed: event counters are then unchanged and prove nothing.",
    origin=EVENT)
CONFIG_LAST_RELOAD_SUCCESS = _exporter("config_last_reload_success",
    "1 when the last load of the configuration succeeded. 0 when it failed: the previous "
    "configuration is still in use.",
    labels=())
CONFIG_LAST_RELOAD_TIMESTAMP_SECONDS = _exporter("config_last_reload_timestamp_seconds",
    "Time of the last successful load of the configuration.",
    labels=())
FORECAST_FILE_SUCCESS = _exporter("forecast_file_success",
    "1 when the file with the rollups' forecasts is served. 0 when it is missing, unreadable, "
    "invalid, or older than a week: its forecasts are then absent. "
    "Absent when no file is configured.",
    labels=())
CONDITIONS_UNJUDGED = _exporter("conditions_unjudged",
    "Streams and consumers for which a condition cannot be judged, by the reason: watched too "
    "briefly, or what it needs is not visible. They have no series of that condition, which "
    "does not mean that it does not hold.",
    labels=(*SYSTEM, "condition", "reason"),
    purpose="For an operator who wants to know what the exporter cannot see.")
SERIES = _exporter("series",
    "Series served for this system, after filters, levels and the series limit.")
SERIES_DROPPED = _exporter("series_dropped_total",
    "Series dropped because of the series limit, added up over the polls. "
    "While it grows, the exposition is incomplete.")
HTTP_DROPPED_CONNECTIONS = _exporter("http_dropped_connections_total",
    "Connections closed before their request was complete: evicted (at the maximum a new one "
    "replaces the oldest without a request), refused (all are busy), timeout (the headers did not "
    "arrive in time), handshake (TLS failed), accept (the system has no descriptor left).",
    labels=("reason",),
    purpose="For an engineer whose scrapes fail: whether clients that send nothing fill the server.")
BUILD_INFO = _exporter("build_info",
    "Versions of the exporter and of Python as labels; the value is always 1.",
    labels=("version", "python"))

# ==================================================================================================
# Archive
# ==================================================================================================

ARCHIVE_REQUESTS = _archive("archive_requests_total",
    "Remote-write requests by the status code of the response.",
    labels=("code",))
ARCHIVE_SAMPLES = _archive("archive_samples_total",
    "Samples received and made durable.")
ARCHIVE_HISTOGRAMS = _archive("archive_histograms_total",
    "Native histograms received and made durable, stored as received.")
ARCHIVE_EXEMPLARS = _archive("archive_exemplars_total",
    "Exemplars received and made durable, stored as received.")
ARCHIVE_REFUSED_REQUESTS = _archive("archive_refused_requests_total",
    "Requests rejected permanently, so that the sender drops them: size (the body is too large), "
    "malformed (not a valid request), parts (some of its series; the others are stored), "
    "encoding (another content type or compression).",
    labels=("reason",))
ARCHIVE_REFUSED_SAMPLES = _archive("archive_refused_samples_total",
    "Samples, histograms and exemplars that can never be stored, by the rule that they break. "
    "The rest of the request is stored.",
    labels=("reason",))
ARCHIVE_DEFERRED_REQUESTS = _archive("archive_deferred_requests_total",
    "Requests rejected with 503, so that the sender retries: busy (too many in progress), slow "
    "(the body did not arrive in time), disk (the log cannot be written), stopping, fault "
    "(internal error).",
    labels=("reason",))
ARCHIVE_RECEIVED_BYTES = _archive("archive_received_bytes_total",
    "Compressed size of the remote-write requests received.")
ARCHIVE_DROPPED_CONNECTIONS = _archive("archive_dropped_connections_total",
    "Connections closed before their request was complete: evicted (at the maximum a new one "
    "replaces the oldest without a request), refused (all are busy), timeout (the headers did not "
    "arrive in time), handshake (TLS failed), accept (the system has no descriptor left).",
    labels=("reason",),
    purpose="For an engineer whose sender fails: whether clients that send nothing fill the server.")
ARCHIVE_QUARANTINED_REQUESTS = _archive("archive_quarantined_requests_total",
    "Requests that could never be stored and were saved for inspection.")
ARCHIVE_QUARANTINE_DROPPED_REQUESTS = _archive("archive_quarantine_dropped_requests_total",
    "Refused requests that are not in the quarantine folder: rate (enough of this sender and rule "
    "in this minute), size (larger than the folder may be), queue (the disk is too slow), disk "
    "(it cannot be written), oldest (deleted for a newer one).",
    labels=("reason",),
    purpose="For an engineer who looks for a refused request that was not kept.")
ARCHIVE_DUPLICATE_SAMPLES = _archive("archive_duplicate_samples_total",
    "Samples removed at compaction because the series already had one with the same timestamp: "
    "senders retry what was not acknowledged.")
ARCHIVE_DROPPED_SAMPLES = _archive("archive_dropped_samples_total",
    "Samples that were acknowledged and not published: conflict (another value for the same "
    "timestamp came later), other_replica (the chosen replica has them), unknown_series (the log "
    "has no definition of the series), misplaced (a timestamp outside every day). The last two "
    "are lost.",
    labels=("reason",))
ARCHIVE_PUBLISH_CONFLICTS = _archive("archive_publish_conflicts_total",
    "Commits to a table that another writer of the same tables came before: publish (published "
    "again from the newer version), maintenance (compaction, deletion or upkeep was postponed).",
    labels=("work",),
    purpose="For an operator with several archives on one store: whether they delay each other.")
ARCHIVE_SERIES = _archive("archive_series",
    "Series that the receiver knows now.")
ARCHIVE_FORGOTTEN_SERIES = _archive("archive_forgotten_series_total",
    "Series forgotten because they had no sample for the time of publish.retention.series.",
    purpose="For an operator who wants to know how many series come and go.")
ARCHIVE_WAL_BYTES = _archive("archive_wal_bytes",
    "Size of the write-ahead log that waits for compaction.")
ARCHIVE_WAL_DAMAGED_BYTES = _archive("archive_wal_damaged_bytes_total",
    "Bytes of the write-ahead log that could not be read, found since the start. The records before "
    "and behind them are published; archive inspect shows what is missing.",
    purpose="For an operator of the archive: any increase means a faulty disk and lost samples.")
ARCHIVE_WAL_OLDEST_TIMESTAMP_SECONDS = _archive("archive_wal_oldest_timestamp_seconds",
    "Time when the oldest record of the write-ahead log was received. An old one means that "
    "publishing does not run. Absent when the log is empty.")
ARCHIVE_COMPACTION_LAST_SUCCESS_TIMESTAMP_SECONDS = _archive(
    "archive_compaction_last_success_timestamp_seconds",
    "Time of the last successful compaction. Absent before the first one.")
ARCHIVE_NEWEST_SAMPLE_TIMESTAMP_SECONDS = _archive("archive_newest_sample_timestamp_seconds",
    "Time of the newest sample received from this sender. An old one means that the "
    "sender or the connection is broken.",
    labels=("sender",))

# ==================================================================================================
# Rollups
# ==================================================================================================

FORECAST_STREAM_BYTES = _rollup("forecast_stream_bytes",
    "Expected size of the stream after the horizon, by quantile: half of "
    "the outcomes should be below 0.5. Only for streams that have a limit.",
    labels=(*STREAM, "horizon", "quantile"))
FORECAST_STREAM_MESSAGES = _rollup("forecast_stream_messages",
    "Expected messages in the stream after the horizon, by quantile. "
    "Only for streams that have a limit.",
    labels=(*STREAM, "horizon", "quantile"))
FORECAST_SERVER_STORAGE_USED_BYTES = _rollup("forecast_server_storage_used_bytes",
    "Expected JetStream file storage in use on the server after the horizon, by quantile.",
    labels=(*SERVER, "horizon", "quantile"))
FORECAST_ACCOUNT_STORAGE_USED_BYTES = _rollup("forecast_account_storage_used_bytes",
    "Expected file storage in use by the account after the horizon, by quantile. "
    "Only for accounts that have a limit.",
    labels=(*ACCOUNT, "horizon", "quantile"))
FORECAST_STREAM_FULL_TIMESTAMP_SECONDS = _rollup("forecast_stream_full_timestamp_seconds",
    "Time when the stream is expected to reach the limit in the label. Quantile 0.9 is the highest "
    "level, so the earliest date. Absent when it is beyond the horizon.",
    labels=(*STREAM, "limit", "quantile"))
FORECAST_SERVER_FULL_TIMESTAMP_SECONDS = _rollup("forecast_server_full_timestamp_seconds",
    "Time when the server is expected to reach the limit in the label. Quantile 0.9 is the highest "
    "level, so the earliest date. Absent when it is beyond the horizon.",
    labels=(*SERVER, "limit", "quantile"))
FORECAST_ACCOUNT_FULL_TIMESTAMP_SECONDS = _rollup("forecast_account_full_timestamp_seconds",
    "Time when the account is expected to reach the limit in the label. Quantile 0.9 is the highest "
    "level, so the earliest date. Absent when it is beyond the horizon.",
    labels=(*ACCOUNT, "limit", "quantile"))
FORECAST_AS_OF_TIMESTAMP_SECONDS = _rollup("forecast_as_of_timestamp_seconds",
    "End of the newest day in the forecasts' input. A rollup may succeed without a newer day: "
    "forecasts without data of the last week are absent, and this series stays.")
ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS = _rollup("rollup_last_success_timestamp_seconds",
    "Time of the last successful rollup. An old one means that all forecasts are stale.")

# fmt: on


def constant_name(metric: Metric) -> str:
    """The name of the metric's constant in this module."""
    return metric.name.removeprefix(PREFIX).removesuffix("_total").upper()


def collected(namespace: Mapping[str, object]) -> tuple[Metric, ...]:
    """The metrics of a module; raises an error for an ambiguous name or family."""
    found = {key: value for key, value in namespace.items() if isinstance(value, Metric)}
    families: dict[str, str] = {}
    for constant, metric in found.items():
        if constant != constant_name(metric):
            raise DefinitionError(f"{metric.name}: is called {constant} in the catalogue")
        if metric.family in families:
            raise DefinitionError(f"{metric.name}: shares a family with {families[metric.family]}")
        families[metric.family] = metric.name
    return tuple(found.values())


ALL: tuple[Metric, ...] = collected(globals())
BY_NAME: dict[str, Metric] = {metric.name: metric for metric in ALL}
# Counters whose series appears with the first event, with the time of their last event.
EVENT_TIMES: dict[Metric, Metric] = {
    metric: BY_NAME[timestamp]
    for metric in ALL
    if (timestamp := metric.family + "_last_event_timestamp_seconds") in BY_NAME
}
# What happened stays visible while the system does not respond.
KEPT_IN_OUTAGES = frozenset((*EVENT_TIMES, *EVENT_TIMES.values()))
