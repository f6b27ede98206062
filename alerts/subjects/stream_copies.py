"""Replicas, leader changes, mirrors and sources of a stream."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import ACCOUNT, COUNT, NUMBER, STREAM
from alerts.queries import increase, judged, latest, lowest, throughout, whole_event_count
from alerts.rule import Alert, Board, Group, Severity
from exporter import catalog
from streamgauge.promql.functions import rename_label

_REPLICA = (
    "The replica of stream {{ $labels.stream }} on server {{ $labels.server }} (" + ACCOUNT + ")"
)
_has_sources = latest(catalog.STREAM_SOURCE_ACTIVE_SECONDS, by=catalog.STREAM)
# A stream with sources is no origin: a mirror often has the name of its origin, which is in another
# domain and not visible here.
_idle_origin = rename_label(
    increase(catalog.STREAM_STORED_MESSAGES, "10m").equals(0).unless(_has_sources),
    "stream",
    "source",
)

REPLICA_OFFLINE = Alert(
    name="StreamReplicaOffline",
    severity=Severity.WARNING,
    when=throughout(catalog.STREAM_REPLICA_OFFLINE, "5m").equals(1),
    for_="0s",
    summary="A replica of a stream is offline.",
    description=f"{_REPLICA} is offline for the leader of the stream. One more may cost the "
    "quorum.",
    condition="The leader of the stream has reported the replica as offline for 5 minutes.",
    board=Board.STREAM,
)

REPLICA_LAGGING = Alert(
    name="StreamReplicaLagging",
    severity=Severity.WARNING,
    when=(lowest(catalog.STREAM_REPLICA_LAG, "5m") > judged(thresholds.REPLICA_LAG)).unless(
        latest(catalog.STREAM_THRESHOLD, by=catalog.STREAM, limit="peer-lag-critical")
    ),
    for_="10m",
    summary="A replica of a stream cannot keep up with its leader.",
    description=f"{_REPLICA} has been at least {NUMBER} entries behind its leader for 15 minutes.",
    condition="The smallest lag of 5 minutes is above <replica_lag> entries. Not where the owner "
    "set peer-lag-critical.",
    board=Board.STREAM,
)

REPLICAS_DIVERGED = Alert(
    name="StreamReplicasDiverged",
    severity=Severity.WARNING,
    when=(
        latest(catalog.STREAM_REPLICA_DIVERGENCE_MESSAGES)
        > judged(thresholds.REPLICA_DIVERGENCE_MESSAGES)
    ).where(
        latest(catalog.STREAM_REPLICA_DIVERGENCE_MESSAGES)
        > latest(catalog.STREAM_MESSAGES) * judged(thresholds.REPLICA_DIVERGENCE_RATIO)
    ),
    for_="10m",
    summary="Two replicas of a stream differ.",
    description=f"{_REPLICA} differs from its leader by {NUMBER} messages although the leader "
    "reports no lag. If it becomes the leader, consumers get other data.",
    condition="A follower without lag differs from its leader by more than "
    "<replica_divergence_messages> messages and <replica_divergence_ratio> of the stream. Needs the "
    "system or monitor source.",
    board=Board.STREAM,
)

LEADER_FLAPPING = Alert(
    name="StreamLeaderFlapping",
    severity=Severity.WARNING,
    when=whole_event_count(catalog.STREAM_LEADER_CHANGES, "15m") > thresholds.LEADER_CHANGES,
    for_="0s",
    keep_firing_for="15m",
    summary="The leader of a stream changes again and again.",
    description=f"{STREAM} has changed its leader about {COUNT} times in the last 15 minutes. Each "
    "time publishes fail for seconds and acknowledgements may be lost.",
    condition="More than <leader_changes> changes of the leader in 15 minutes.",
    board=Board.STREAM,
)

MIRROR_STALE = Alert(
    name="StreamMirrorStale",
    severity=Severity.WARNING,
    when=(latest(catalog.STREAM_SOURCE_ACTIVE_SECONDS) > judged(thresholds.SOURCE_SILENCE))
    .unless(_idle_origin)
    .unless(latest(catalog.STREAM_THRESHOLD, by=catalog.STREAM, limit="seen-critical"))
    .or_(latest(catalog.STREAM_SOURCE_ERROR).equals(1)),
    for_="10m",
    summary="A mirror or source has lost contact with its origin.",
    description=f"{STREAM} copies from {{{{ $labels.source }}}} and has had no contact with it for "
    "long, or reports an error. Messages published there do not arrive here.",
    condition="No contact with the origin for more than <source_silence> (unless it is visible and "
    "idle, or the owner set seen-critical), or the mirror or source reports an error.",
    board=Board.STREAM,
)

GROUPS = (
    Group(
        "streamgauge.stream.copies",
        (REPLICA_OFFLINE, REPLICA_LAGGING, REPLICAS_DIVERGED, LEADER_FLAPPING, MIRROR_STALE),
    ),
)
