"""What each problem means, the command to run next, and its alert, whose severity is its level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote

from exporter import catalog
from exporter.metric import Metric
from exporter.pages.status.level import Level

_OK, _WARNING, _CRITICAL = Level.OK, Level.WARNING, Level.CRITICAL


@dataclass(frozen=True, slots=True)
class Advice:
    level: Level  # OK: nothing fires, or for information only
    means: str
    command: str  # with {stream}, {consumer} and {server}
    runbook: str  # the name of the alert

    def filled(self, **names: str) -> str:
        """Quoted: clients choose the names, and people paste the command into a shell."""
        return self.command.format(**{key: quote(name) for key, name in names.items()})


_INFO = "nats consumer info {stream} {consumer}"
_STREAM = "nats stream info {stream}"
_SERVERS = "nats server list"
_JETSTREAM = "nats server report jetstream"


def _consumer(level: Level, means: str, alert: str, command: str = _INFO) -> Advice:
    return Advice(level, means, command, f"JetStreamConsumer{alert}")


def _stream(level: Level, means: str, alert: str, command: str = _STREAM) -> Advice:
    return Advice(level, means, command, f"JetStreamStream{alert}")


def _of(level: Level, means: str, alert: str, command: str = _SERVERS) -> Advice:
    return Advice(level, means, command, f"JetStream{alert}")


CONSUMER: Mapping[str, Advice] = {
    "no_leader": _consumer(_CRITICAL, "Its Raft group has no leader: nothing is delivered until enough replicas are up.", "NoLeader", _JETSTREAM),
    "losing_messages": _consumer(_CRITICAL, "Limits of the stream remove messages before they are delivered.", "MessagesLost", _STREAM),
    "ack_pending_full": _consumer(_CRITICAL, "As many messages as max_ack_pending allows are unacknowledged: nothing more is delivered.", "AckPendingFull"),
    "stalled": _consumer(_CRITICAL, "Workers wait for messages and messages wait, but the server delivers none.", "Stalled"),
    "workers_gone": _consumer(_CRITICAL, "It was busy nearly all day, and now no worker pulls or is bound: all of them are down.", "Stalled"),
    "nothing_finished": _consumer(_CRITICAL, "The same messages are delivered again and again, and none is finished.", "RedeliveryLoop"),
    "redelivery_loop": _consumer(_WARNING, "A few messages are delivered again and again.", "AckFloorStalled"),
    "ack_floor_stuck": _consumer(_WARNING, "A message is delivered and not finished, much longer than ack_wait.", "AckFloorStalled"),
    "no_worker_pulls": _consumer(_WARNING, "Messages wait and no worker pulls: the workers are down or connected elsewhere.", "NoWorkerPulls"),
    "not_bound": _consumer(_WARNING, "Messages wait and no subscriber is bound to the deliver subject.", "NotBound"),
    "falling_behind": _consumer(_WARNING, "More messages arrive than are finished: the backlog grows.", "BacklogGrowing", "nats consumer report {stream}"),
    "headroom_low": _consumer(_WARNING, "The limits of the stream will soon remove messages that it has not finished.", "RetentionHeadroomLow", _STREAM),
    "messages_abandoned": _consumer(_WARNING, "Messages reached max_deliver: they are stored and never delivered again.", "MessagesAbandoned"),
    "acks_late": _consumer(_WARNING, "Acks come so late that ack_wait ends first: work is done twice.", "AckWaitTooShort"),
    "nak_loop": _consumer(_WARNING, "Workers refuse most deliveries: a nak without a delay comes back at once.", "NakLoop"),
    "redelivery_high": _consumer(_WARNING, "Many deliveries are redeliveries: acks are lost, or workers fail.", "RedeliveryHigh"),
    "ack_pending_high": _consumer(_WARNING, "Unacknowledged messages are close to max_ack_pending.", "AckPendingHigh"),
    "ack_floor_gap_high": _consumer(_WARNING, "Many deliveries lie above the ack floor: old messages are never finished.", "AckFloorGapHigh"),
    "paused_backlog": _consumer(_OK, "It is paused and messages wait; retention goes on.", "PausedLong", "nats consumer resume {stream} {consumer}"),
    "long_jobs": _consumer(_OK, "Workers extend ack_wait by in-progress acks: jobs take long, nothing is stuck.", "AckPendingHigh"),
    "malformed_row": _of(_WARNING, "Its part of the server's response could not be decoded: nothing is known about it.", "ExporterPartial", _INFO),
}  # fmt: skip

STREAM: Mapping[str, Advice] = {
    "no_leader": _stream(_CRITICAL, "Its Raft group has no leader: publishes fail, and its consumers get nothing.", "NoLeader", _JETSTREAM),
    "full": _stream(_CRITICAL, "It has reached its limit and rejects new messages (discard new).", "Full"),
    "no_interest": _of(_WARNING, "It acknowledges publishes and keeps none: interest retention, and no consumer.", "InterestStreamDiscarding", _STREAM),
    "diverged": _stream(_WARNING, "A replica without lag holds other messages than its leader.", "ReplicasDiverged"),
    "replica_offline": _stream(_WARNING, "A replica is offline: one more may cost the quorum.", "ReplicaOffline"),
    "quorum_at_risk": _of(_WARNING, "The next replica that fails stops the stream.", "ServerDown", _STREAM),
    "mirror_stale": _stream(_WARNING, "It has lost contact with the stream that it copies from.", "MirrorStale"),
    "replica_lagging": _stream(_WARNING, "A replica cannot keep up with its leader.", "ReplicaLagging"),
    "filling": _stream(_WARNING, "It will reach its limit within hours, and then reject messages.", "FillingUp"),
    "unreachable_messages": _of(_WARNING, "Its messages reached max_deliver or match no filter: no consumer gets them.", "WorkqueueStuckMessages", "nats consumer report {stream}"),
    "index_damaged": _stream(_WARNING, "It reports more subjects than messages, which is impossible.", "Inconsistent"),
    "back_pressure": _stream(_OK, "It is full, and publishers wait until consumers finish messages, as designed.", "Full"),
    "malformed_row": _of(_WARNING, "Its part of the server's response could not be decoded: nothing is known about it.", "ExporterPartial", _STREAM),
    "damaged_store": _stream(_CRITICAL, "The server reports messages that its store has lost.", "DataLost"),
}  # fmt: skip

SERVER: Mapping[str, Advice] = {
    "down": _of(_WARNING, "It does not respond, and was seen within the last hour.", "ServerDown"),
    "unhealthy": _of(_WARNING, "It responds and reports itself as unhealthy.", "ServerUnhealthy", "nats server request jetstream {server}"),
    "storage_high": _of(_WARNING, "JetStream has nearly used the storage or memory that the server allows.", "ServerStorageHigh", _JETSTREAM),
    "clock_off": _of(_WARNING, "Its clock is wrong: expiry, duplicate windows and times of messages are off.", "ServerClockOffset"),
}  # fmt: skip

LIMIT = _of(_CRITICAL, "A value is beyond the limit that the owner set in the metadata.", "OwnerLimitExceeded", _STREAM)  # fmt: skip

# What happened in the last minutes, of consumers and streams.
EVENTS: Mapping[Metric, tuple[str, Advice]] = {
    catalog.CONSUMER_LOST_MESSAGES: ("messages_lost", _consumer(_CRITICAL, "Limits of the stream removed messages before they were delivered.", "MessagesLost", _STREAM)),
    catalog.CONSUMER_EXHAUSTED: ("max_deliver_reached", _consumer(_WARNING, "Messages reached max_deliver: they are stored and never delivered again.", "MessagesAbandoned")),
    catalog.CONSUMER_RECREATED: ("recreated", _consumer(_WARNING, "It was deleted and created again: it starts at another position.", "Recreated")),
    catalog.STREAM_SEQUENCE_REGRESSIONS: ("sequence_went_back", _stream(_CRITICAL, "Its last sequence went back: messages that it had acknowledged are lost.", "DataLost")),
    catalog.STREAM_RECREATED: ("recreated", _stream(_WARNING, "It was deleted and created again: its former messages are gone.", "Recreated")),
}  # fmt: skip

# Of a system as a whole, and of the exporter itself.
SYSTEM: Mapping[str, Advice] = {
    "no_response": _of(_CRITICAL, "No server gives a usable response: its series are absent from /metrics.", "SystemUnreachable"),
    "not_responded_yet": _of(_WARNING, "The first poll has not succeeded yet.", "ExporterPartial"),
    "request_failed": _of(_WARNING, "What this request reads is missing from metrics and pages.", "ExporterPartial"),
    "poll_incomplete": _of(_WARNING, "Some servers or assets are missing from the last poll.", "ExporterPartial"),
    "servers_missing": _of(_WARNING, "Servers that were seen before do not respond.", "ServerDown"),
    "no_meta_leader": _of(_CRITICAL, "Nothing can be created, changed or deleted; running streams go on.", "MetaLeaderMissing"),
    "meta_peer_offline": _of(_WARNING, "A member of the meta group is offline and still counts for the quorum.", "MetaPeerOffline"),
    "meta_pending_high": _of(_WARNING, "The meta leader does not keep up: creating and changing assets is slow.", "MetaPendingHigh"),
    "account_full": _of(_CRITICAL, "The account has used its limit: publishes will soon be rejected.", "AccountStorageFull", "nats account info"),
    "account_filling": _of(_WARNING, "The account has used most of its limit.", "AccountStorageHigh", "nats account info"),
    "series_dropped": _of(_WARNING, "The exposition is incomplete: raise max_series or filter.", "ExporterSeriesDropped", ""),
    "finding": _of(_WARNING, "The audit found a setting that loses messages or stops work.", "ConfigFinding", ""),
    "reload_failed": Advice(_WARNING, "The configuration file is not valid: the previous one is in use. See the log.", "", ""),
}  # fmt: skip
