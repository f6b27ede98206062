"""Streams."""

from __future__ import annotations

from functools import partial

from exporter.catalog.definition import define, last_event_of
from exporter.catalog.labels import OWNER_LABELS, STREAM, WRITER_LABELS
from exporter.metric import Origin, Subject

_DERIVED = Origin.DERIVED
_EVENT = Origin.EVENT

_stream = partial(define, subject=Subject.STREAM, labels=STREAM)

# An entry is a name, its help text and one line of facts; the formatter would spread the facts.
# fmt: off

STREAM_UP = _stream("stream_up",
    "1 when the stream's leader responded in this poll. 0 when the stream is known but has no "
    "leader, or is listed as missing or offline; it then has no other series than its info. "
    "Absent when its row in the response is malformed.",
    source="stream info: cluster.leader")

STREAM_CONDITION_START_TIMESTAMP_SECONDS = _stream("stream_condition_start_timestamp_seconds",
    "Time since when a condition of the stream holds, on the exporter's clock. Present only while "
    "it holds. The label condition is no_leader, full (discard new, at its limit), no_interest "
    "(publishes are acknowledged and not kept), diverged, replica_offline, quorum_at_risk, "
    "mirror_stale, replica_lagging, filling (full within hours), unreachable_messages (of a work "
    "queue), index_damaged or back_pressure.",
    labels=(*STREAM, "condition"), origin=_DERIVED)

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

# --- opt-in ---------------------------------------------------------------------------------------

STREAM_SUBJECT_MESSAGES = _stream("stream_subject_messages",
    "Messages of one subject, for the subjects with the most. Only of streams that the setting "
    "subject_counts names. Counted once an interval.",
    labels=(*STREAM, "subject"), source="stream info: state.subjects",
    purpose="For an owner who wants to know which tenant, device or queue fills a stream.")
STREAM_SUBJECTS_HIDDEN = _stream("stream_subjects_hidden",
    "Subjects that match the filter of subject_counts and have no stream_subject_messages: only "
    "the largest have, up to the setting top.",
    origin=_DERIVED,
    purpose="For an owner who reads stream_subject_messages: whether it shows all of them.")
STREAM_METADATA_INFO = _stream("stream_metadata_info",
    "A value of the stream's metadata, for the keys that the setting metadata names; the value is "
    "always 1. A change of the metadata starts a new series.",
    labels=(*STREAM, "key", "value"), source="stream info: config.metadata",
    purpose="For own rules and boards that group streams by what their owners declare.")

# --- publishes ------------------------------------------------------------------------------------

STREAM_PUBLISHES_RECEIVED = _stream("stream_publishes_received_total",
    "Publishes that reached the stream, stored or not, since the exporter started. "
    "Absent with the account source, and where the request is skipped.",
    origin=_DERIVED)
STREAM_PUBLISHES_UNSTORED = _stream("stream_publishes_unstored_total",
    "Publishes that reached the stream and were not stored: duplicates and rejections, "
    "since the exporter started. Absent with the account source, for mirrors, and for streams "
    "with sources, delete markers or schedules.",
    origin=_DERIVED)
STREAM_DEDUPE_HITS = _stream("stream_dedupe_hits_total",
    "Publishes that the server rejected as duplicates, since the exporter started. Exact with the "
    "publish-ack tap; without it an upper bound that includes rejections. "
    "See stream_dedupe_exact.",
    origin=_DERIVED)
STREAM_DEDUPE_EXACT = _stream("stream_dedupe_exact",
    "1 when duplicates are counted from acknowledgements, 0 when they are the upper bound from "
    "unstored publishes.",
    origin=_DERIVED)
STREAM_DEDUPE_WINDOW_MESSAGES = _stream("stream_dedupe_window_messages",
    "Messages stored within the duplicate window, an estimate. The server holds at most as many "
    "message ids, and none for messages without an id. Servers do not report the number of ids.",
    origin=_DERIVED)
STREAM_PUBLISH_REJECTIONS = _stream("stream_publish_rejections_total",
    "Publishes that the server rejected with an error, by error code. "
    "Only the publish-ack tap receives them; servers do not count them. Absent without the tap.",
    labels=(*STREAM, "code"), origin=_EVENT)

# --- changes --------------------------------------------------------------------------------------

STREAM_SEQUENCE_REGRESSIONS = _stream("stream_sequence_regressions_total",
    "Times that the last sequence went back without a new creation time: messages that were "
    "acknowledged to their publishers are lost. Counted since the exporter started.",
    origin=_DERIVED)
STREAM_SEQUENCE_REGRESSIONS_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(
    STREAM_SEQUENCE_REGRESSIONS)
STREAM_RECREATED = _stream("stream_recreated_total",
    "Times that the stream was recreated (its creation time changed by more than a second), "
    "since the exporter started.",
    origin=_DERIVED)
STREAM_RECREATED_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(STREAM_RECREATED)
STREAM_LEADER_CHANGES = _stream("stream_leader_changes_total",
    "Leader changes of this stream, since the exporter started. "
    "Two elections between two polls count once.",
    origin=_DERIVED)
STREAM_LEADER_CHANGES_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(STREAM_LEADER_CHANGES)
STREAM_RESTORES = _stream("stream_restores_total",
    "Times that this stream was restored from a backup, from advisories. The series appears with "
    "the first event.",
    origin=_EVENT)
STREAM_RESTORES_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(STREAM_RESTORES)
STREAM_CONSUMERS_REMOVED = _stream("stream_consumers_removed_total",
    "Durable consumers that were in the last complete response and are gone now, since the "
    "exporter started. An incomplete response counts no removal.",
    origin=_DERIVED)
STREAM_CONSUMERS_REMOVED_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(STREAM_CONSUMERS_REMOVED)
STREAM_PURGED_MESSAGES = _stream("stream_purged_messages_total",
    "Messages removed by purges, since the exporter started.",
    origin=_DERIVED)
STREAM_PURGED_MESSAGES_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(STREAM_PURGED_MESSAGES)
STREAM_QUORUM_LOST = _stream("stream_quorum_lost_total",
    "Times that the stream lost its quorum and could not store messages, from advisories. "
    "The series appears with the first event.",
    origin=_EVENT)
STREAM_QUORUM_LOST_LAST_EVENT_TIMESTAMP_SECONDS = last_event_of(STREAM_QUORUM_LOST,
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
    labels=(*STREAM, "server"), origin=_DERIVED)
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
STREAM_LIMIT_EXCEEDED = _stream("stream_limit_exceeded",
    "The value that exceeds the owner's limit of the same name in stream_threshold. Present only "
    "while it does, and not in the first 5 minutes of the stream.",
    labels=(*STREAM, "limit"), origin=_DERIVED)
STREAM_CONFIG_FINDINGS = _stream("stream_config_findings",
    "How many assets of this stream, itself and its consumers, fail this audit check. "
    "The label check is the permanent code of the check.",
    labels=(*STREAM, "check", "severity"), origin=_DERIVED)
STREAM_INFO = _stream("stream_info",
    "Properties of the stream as labels; the value is always 1. A leader change or an edit starts "
    "a new series, so join on the identity labels only. The owner's labels are present where the "
    "metadata sets them.",
    labels=(*STREAM, "retention", "discard", "storage", "compression", "kind", "leader",
            "raft_group", "replicas", "mirror", *OWNER_LABELS, *WRITER_LABELS),
    source="stream info: config, cluster")
