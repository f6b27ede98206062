"""Every threshold of the alerts, the boards and the report. Standard library only.

Limits that owners set in metadata take precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from alerts.quantity import Threshold, ThresholdError, Unit

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MIB = float(1 << 20)
# The exporter judges it: an ack floor that is unmoved for so many times ack_wait is stuck.
ACK_FLOOR_ACK_WAITS = 10

# The formatter would spread each entry over seven lines.
# fmt: off

# --- for every alert ------------------------------------------------------------------------------

SNAPSHOT_AGE = Threshold(
    "snapshot_age", 45.0, Unit.DURATION,
    "data of a system older than this (three poll intervals) is stale, and no alert fires on it",
    ("ExporterStale", "ConsumerNoLeader", "ConsumerMessagesLost", "StreamNoLeader",
     "StreamDataLost"))
SYSTEM_SILENCE = Threshold(
    "system_silence", 3 * MINUTE, Unit.DURATION,
    "no exporter got a response from a system for longer than this",
    ("SystemUnreachable",))
YOUNG_EXPORTER = Threshold(
    "young_exporter", 6 * MINUTE, Unit.DURATION,
    "an exporter younger than this cannot judge every condition: open pages stay open",
    ())  # all pages that need fresh data
YOUNG_ASSET = Threshold(
    "young_asset", 5 * MINUTE, Unit.DURATION,
    "a stream or consumer younger than this raises no alert",
    ("StreamNoLeader", "ConsumerNoLeader", "ConsumerMessagesLost", "StreamDataLost"))

RECENT_EVENT = Threshold(
    "recent_event", 15 * MINUTE, Unit.DURATION,
    "an event younger than this raises its alert",
    ("ConsumerMessagesLost", "ConsumerMessagesAbandoned", "ConsumerRecreated", "ConsumerRemoved",
     "StreamDataLost", "StreamRecreated", "StreamRestored"))

# --- consumers ------------------------------------------------------------------------------------

CONSUMER_LEADERLESS = Threshold(
    "consumer_leaderless", 2 * MINUTE, Unit.DURATION,
    "a consumer has had no leader for longer than this",
    ("ConsumerNoLeader",))
ACK_PENDING_FULL = Threshold(
    "ack_pending_full", 10 * MINUTE, Unit.DURATION,
    "unacknowledged messages have filled max_ack_pending, without a new delivery, for longer than this",
    ("ConsumerAckPendingFull",))
REDELIVERY_LOOP = Threshold(
    "redelivery_loop", 10 * MINUTE, Unit.DURATION,
    "messages have been redelivered and none was finished for longer than this",
    ("ConsumerRedeliveryLoop",))
LOOP_FINISHED_RATIO = Threshold(
    "loop_finished_ratio", 0.05, Unit.RATIO,
    "a redelivery loop in which less than this share of the deliveries finishes a message does no work",
    ("ConsumerRedeliveryLoop",))
ACK_FLOOR_STUCK = Threshold(
    "ack_floor_stuck", 10 * MINUTE, Unit.DURATION,
    "the ack floor has not moved for longer than this, and for more than ten times ack_wait",
    ("ConsumerAckFloorStalled",))
NO_WORKER = Threshold(
    "no_worker", 15 * MINUTE, Unit.DURATION,
    "messages have waited without a pull request or a subscriber for longer than this",
    ("ConsumerNoWorkerPulls", "ConsumerNotBound"))
FALLING_BEHIND = Threshold(
    "falling_behind", 30 * MINUTE, Unit.DURATION,
    "the backlog has grown for longer than this",
    ("ConsumerBacklogGrowing",))
CONSUMER_STALLED = Threshold(
    "consumer_stalled", 10 * MINUTE, Unit.DURATION,
    "messages wait and none was delivered for longer than this",
    ("ConsumerStalled",))
CONSUMER_BUSY_RATIO = Threshold(
    "consumer_busy_ratio", 0.9, Unit.RATIO,
    "a consumer with deliveries in more than this share of the half hours of a day is busy: without "
    "deliveries it is stalled, not waiting for its schedule",
    ("ConsumerStalled", "ConsumerNoWorkerPulls", "ConsumerNotBound"))
REDELIVERY_RATIO = Threshold(
    "redelivery_ratio", 0.10, Unit.RATIO,
    "more than this share of the deliveries are redeliveries",
    ("ConsumerRedeliveryHigh",))
REDELIVERIES = Threshold(
    "redeliveries", 15 * MINUTE, Unit.DURATION,
    "a high share of redeliveries or naks has lasted longer than this",
    ("ConsumerRedeliveryHigh", "ConsumerNakLoop"))
NAK_RATIO = Threshold(
    "nak_ratio", 0.5, Unit.RATIO,
    "more than this share of the deliveries get a nak",
    ("ConsumerNakLoop",))
DELIVERIES_LEAST = Threshold(
    "deliveries_least", 30, Unit.COUNT,
    "a share of deliveries is only judged from this many in five minutes on",
    ("ConsumerRedeliveryHigh", "ConsumerNakLoop"))
ACKS_LATE = Threshold(
    "acks_late", 30 * MINUTE, Unit.DURATION,
    "acknowledgements have been late for longer than this",
    ("ConsumerAckWaitTooShort",))
ACK_WAIT_RATIO = Threshold(
    "ack_wait_ratio", 0.5, Unit.RATIO,
    "acknowledgements take longer than this share of ack_wait",
    ("ConsumerAckWaitTooShort",))
ACK_FLOOR_GAP = Threshold(
    "ack_floor_gap", 30 * MINUTE, Unit.DURATION,
    "many deliveries have been above the ack floor for longer than this",
    ("ConsumerAckFloorGapHigh",))
ACK_FLOOR_GAP_WINDOWS = Threshold(
    "ack_floor_gap_windows", 5, Unit.FACTOR,
    "deliveries above the ack floor exceed this many times max_ack_pending",
    ("ConsumerAckFloorGapHigh",))
ACK_FLOOR_GAP_DELIVERIES = Threshold(
    "ack_floor_gap_deliveries", 100_000, Unit.COUNT,
    "deliveries above the ack floor exceed this number, whatever max_ack_pending is",
    ("ConsumerAckFloorGapHigh",))
ACK_PENDING_LASTING = Threshold(
    "ack_pending_lasting", 15 * MINUTE, Unit.DURATION,
    "unacknowledged messages have been close to max_ack_pending for longer than this",
    ("ConsumerAckPendingHigh",))
ACK_PENDING_RATIO = Threshold(
    "ack_pending_ratio", 0.8, Unit.RATIO,
    "unacknowledged messages fill this share of max_ack_pending",
    ("ConsumerAckPendingHigh",))
ACK_PENDING_WINDOW_LEAST = Threshold(
    "ack_pending_window_least", 10, Unit.COUNT,
    "a max_ack_pending below this serves ordered work and is full by design",
    ("ConsumerAckPendingHigh",))
RETENTION_HEADROOM_RATIO = Threshold(
    "retention_headroom_ratio", 0.2, Unit.RATIO,
    "less than this share of the retention is left before unread messages are removed",
    ("ConsumerRetentionHeadroomLow",))
HEADROOM_LASTING = Threshold(
    "headroom_lasting", 15 * MINUTE, Unit.DURATION,
    "little retention has been left for longer than this",
    ("ConsumerRetentionHeadroomLow",))
EXHAUSTED_LASTING = Threshold(
    "exhausted_lasting", HOUR, Unit.DURATION,
    "messages that reached max_deliver stay in the stream for longer than this",
    ("ConsumerMessagesAbandoned",))
CONSUMER_PAUSED = Threshold(
    "consumer_paused", DAY, Unit.DURATION,
    "a pause that lasts longer than this while messages wait may have been forgotten",
    ("ConsumerPausedLong",))

# --- streams --------------------------------------------------------------------------------------

STREAM_LEADERLESS = Threshold(
    "stream_leaderless", MINUTE, Unit.DURATION,
    "a stream has had no leader for longer than this",
    ("StreamNoLeader",))
STREAM_FULL_RATIO = Threshold(
    "stream_full_ratio", 0.98, Unit.RATIO,
    "a stream with discard new is filled up to this share",
    ("StreamFull",))
STREAM_FULL = Threshold(
    "stream_full", 5 * MINUTE, Unit.DURATION,
    "a stream with discard new has been full for longer than this",
    ("StreamFull",))
STREAM_FILLING = Threshold(
    "stream_filling", 30 * MINUTE, Unit.DURATION,
    "a stream has been about to be full for longer than this",
    ("StreamFillingUp",))
STREAM_FILLING_RATIO = Threshold(
    "stream_filling_ratio", 0.85, Unit.RATIO,
    "a stream with discard new is filled above this share and still grows",
    ("StreamFillingUp",))
STREAM_FILLING_HORIZON = Threshold(
    "stream_filling_horizon", 4 * HOUR, Unit.DURATION,
    "the growth of the last hours reaches the limit within this time",
    ("StreamFillingUp",))
FORECAST_HORIZON = Threshold(
    "forecast_horizon", 14 * DAY, Unit.DURATION,
    "the forecast of the rollups reaches the limit within this time",
    ("StreamForecastFull", "ServerForecastFull"))
REPLICA_LAG = Threshold(
    "replica_lag", 1000, Unit.COUNT,
    "a replica is behind its leader by more than this many entries",
    ("StreamReplicaLagging",))
REPLICA_DIVERGENCE_MESSAGES = Threshold(
    "replica_divergence_messages", 1000, Unit.COUNT,
    "a replica without lag differs from its leader by more than this many messages",
    ("StreamReplicasDiverged",))
REPLICA_DIVERGENCE_RATIO = Threshold(
    "replica_divergence_ratio", 0.05, Unit.RATIO,
    "and by more than this share of the stream",
    ("StreamReplicasDiverged",))
LEADER_CHANGES = Threshold(
    "leader_changes", 3, Unit.COUNT,
    "more changes of a stream's leader than this in fifteen minutes",
    ("StreamLeaderFlapping",))
SOURCE_SILENCE = Threshold(
    "source_silence", 5 * MINUTE, Unit.DURATION,
    "a mirror or source has had no contact with its origin for longer than this",
    ("StreamMirrorStale",))
PUBLISH_CONFLICT_RATIO = Threshold(
    "publish_conflict_ratio", 0.01, Unit.RATIO,
    "more than this share of the publishes is rejected for a wrong expected sequence or message id",
    ("PublishConflictsHigh",))
PUBLISH_UNSTORED_RATIO = Threshold(
    "publish_unstored_ratio", 0.05, Unit.RATIO,
    "more than this share of the publishes that reached a stream is not stored",
    ("PublishesNotStored",))
DEDUPE_MEMORY = Threshold(
    "dedupe_memory", 512 * MIB, Unit.BYTES,
    "the message ids of the duplicate window take more memory than this on each replica",
    ("DedupeMemoryHigh",))
DEDUPE_ID_MEMORY = Threshold(
    "dedupe_id_memory", 240, Unit.BYTES,
    "the memory that one message id takes in the server (measured)",
    ("DedupeMemoryHigh",))
EPHEMERAL_GROWTH = Threshold(
    "ephemeral_growth", 50, Unit.COUNT,
    "the number of ephemeral consumers of a stream rose by more than this in a day, in both halves "
    "of it",
    ("ConsumerEphemeralLeak",))

# --- servers, meta group, accounts ----------------------------------------------------------------

CLOCK_OFFSET = Threshold(
    "clock_offset", 1.0, Unit.DIFFERENCE,
    "the clock of a server is off by more than this beyond the uncertainty, or two clocks differ by "
    "more",
    ("ServerClockOffset",))
SERVER_DOWN = Threshold(
    "server_down", 2 * MINUTE, Unit.DURATION,
    "a server has not responded for longer than this",
    ("ServerDown",))
SERVER_UNHEALTHY = Threshold(
    "server_unhealthy", 5 * MINUTE, Unit.DURATION,
    "a server has reported itself as unhealthy for longer than this",
    ("ServerUnhealthy",))
SERVER_STORAGE_RATIO = Threshold(
    "server_storage_ratio", 0.9, Unit.RATIO,
    "JetStream uses more than this share of the limit of the server",
    ("ServerStorageHigh",))
SERVER_START_DIFFERENCE = Threshold(
    "server_start_difference", MINUTE, Unit.DIFFERENCE,
    "servers of one name whose start times differ by more than this are not the same server",
    ("SystemIdentityShared",))
API_REQUEST_GROWTH = Threshold(
    "api_request_growth", 5, Unit.FACTOR,
    "a system gets so many times the JetStream API requests of the day before",
    ("ServerApiRequestsHigh",))
API_REQUEST_RATE = Threshold(
    "api_request_rate", 100, Unit.COUNT,
    "more JetStream API requests a second than this, of all servers of a system",
    ("ServerApiRequestsHigh",))
META_LEADER_CHANGES = Threshold(
    "meta_leader_changes", 3, Unit.COUNT,
    "more changes of the meta leader than this in an hour",
    ("MetaLeaderFlapping",))
CONSUMER_COUNT_CHANGE = Threshold(
    "consumer_count_change", 0.5, Unit.RATIO,
    "the number of durable consumers of a system fell by more than this share in an hour",
    ("ConsumersFewer",))
CONSUMER_COUNT_LEAST = Threshold(
    "consumer_count_least", 10, Unit.COUNT,
    "a change of the number of consumers is only judged from this many on",
    ("ConsumersFewer",))
API_ERROR_RATIO = Threshold(
    "api_error_ratio", 0.01, Unit.RATIO,
    "more than this share of the JetStream API requests fails",
    ("ServerApiErrors",))
API_REQUESTS_LEAST = Threshold(
    "api_requests_least", 100, Unit.COUNT,
    "failed API requests are only judged from this many in fifteen minutes on",
    ("ServerApiErrors",))
META_PENDING = Threshold(
    "meta_pending", 500, Unit.COUNT,
    "the meta leader has more pending operations than this",
    ("MetaPendingHigh",))
ACCOUNT_HIGH_RATIO = Threshold(
    "account_high_ratio", 0.80, Unit.RATIO,
    "an account uses this share of its storage or memory limit",
    ("AccountStorageHigh",))
ACCOUNT_FULL_RATIO = Threshold(
    "account_full_ratio", 0.95, Unit.RATIO,
    "an account uses this share of its storage or memory limit: publishes will soon be rejected",
    ("AccountStorageFull",))

# --- archive and rollups --------------------------------------------------------------------------

ARCHIVE_SILENCE = Threshold(
    "archive_silence", 10 * MINUTE, Unit.DURATION,
    "the archive has received no sample from a sender for longer than this",
    ("ArchiveNotReceiving",))
ARCHIVE_WAL_AGE = Threshold(
    "archive_wal_age", 3 * HOUR, Unit.DURATION,
    "the oldest sample in the archive's write-ahead log is older than this",
    ("ArchiveWalOld",))
ROLLUP_AGE = Threshold(
    "rollup_age", 36 * HOUR, Unit.DURATION,
    "no rollup has succeeded for longer than this",
    ("RollupOverdue",))
REPORT_AGE = Threshold(
    "report_age", 33 * DAY, Unit.DURATION,
    "no monthly report has succeeded for longer than this",
    ("ReportOverdue",))

# fmt: on

ALL: tuple[Threshold, ...] = tuple(v for v in globals().values() if isinstance(v, Threshold))
BY_NAME: Mapping[str, Threshold] = {threshold.name: threshold for threshold in ALL}

# The exporter judges conditions by these, from its own settings: `--set` of rules cannot change them.
OF_EXPORTER = frozenset(
    each.name
    for each in (
        CONSUMER_BUSY_RATIO, LOOP_FINISHED_RATIO, REDELIVERY_RATIO, NAK_RATIO, DELIVERIES_LEAST, ACK_WAIT_RATIO,
        ACK_FLOOR_GAP_WINDOWS, ACK_FLOOR_GAP_DELIVERIES, ACK_PENDING_RATIO,
        ACK_PENDING_WINDOW_LEAST, RETENTION_HEADROOM_RATIO, STREAM_FULL_RATIO,
        STREAM_FILLING_RATIO, STREAM_FILLING_HORIZON, REPLICA_LAG, REPLICA_DIVERGENCE_MESSAGES,
        REPLICA_DIVERGENCE_RATIO, SOURCE_SILENCE, CLOCK_OFFSET, SERVER_STORAGE_RATIO,
    )
)  # fmt: skip

# The warning must fire before the critical alert of the same quantity.
_ORDERED = ((STREAM_FILLING_RATIO, STREAM_FULL_RATIO), (ACCOUNT_HIGH_RATIO, ACCOUNT_FULL_RATIO))


def overridden(assignments: Iterable[str], *, of_exporter: bool = False) -> dict[str, Threshold]:
    """All thresholds by name, those named in `name=value` assignments with their new values.

    `of_exporter`: also those by which the exporter judges, for a reader with a judgement of its own."""
    chosen = dict(BY_NAME)
    for assignment in assignments:
        name, equals, written = assignment.partition("=")
        if not equals:
            raise ThresholdError(f"{assignment}: write it as name=value")
        if name not in chosen:
            raise ThresholdError(f"{name}: there is no such threshold{_nearest(name)}")
        if name in OF_EXPORTER and not of_exporter:
            raise ThresholdError(
                f"{name}: the exporter judges by it: set thresholds.{name} in its configuration"
            )
        chosen[name] = chosen[name].with_text(written)
    for lower, upper in _ORDERED:
        low, high = chosen[lower.name], chosen[upper.name]
        if not low.value < high.value:
            raise ThresholdError(f"{low.name}={low.text}: is not below {high.name}={high.text}")
    return chosen


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    found = get_close_matches(name, BY_NAME, n=1)
    return f"; did you mean {found[0]}?" if found else ""
