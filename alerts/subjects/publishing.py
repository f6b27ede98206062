"""Publishes that a stream does not store, and the memory of deduplication."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import PERCENT, STREAM
from alerts.queries import increase, latest
from alerts.rule import Alert, Board, Group, Severity
from exporter import catalog
from streamgauge.promql.selectors import Regex

# Wrong last sequence, the same by its other name, and wrong last message id.
_CONFLICTS = Regex("10070|10071|10164")
_conflicts = increase(catalog.STREAM_PUBLISH_REJECTIONS, "15m", code=_CONFLICTS).sum_without("code")
_received = increase(catalog.STREAM_PUBLISHES_RECEIVED, "15m")
# The account source has no count of received publishes; the stored ones come closest.
_published = _received.or_(increase(catalog.STREAM_STORED_MESSAGES, "15m") + _conflicts)

CONFLICTS_HIGH = Alert(
    name="PublishConflictsHigh",
    severity=Severity.WARNING,
    when=_conflicts.over(_published) > thresholds.PUBLISH_CONFLICT_RATIO,
    for_="15m",
    summary="Publishes are rejected for a wrong expected sequence or message id.",
    description=f"{STREAM} rejected {PERCENT} of the publishes of the last 15 minutes for a wrong "
    "last sequence or message id: several writers race, or one retries with an old sequence.",
    condition="More than <publish_conflict_ratio> of the publishes are rejected with 10070, 10071 "
    "or 10164. Needs the publish-ack tap.",
    board=Board.PUBLISH,
)

NOT_STORED = Alert(
    name="PublishesNotStored",
    severity=Severity.WARNING,
    when=increase(catalog.STREAM_PUBLISHES_UNSTORED, "15m").over(_received)
    > thresholds.PUBLISH_UNSTORED_RATIO,
    for_="15m",
    summary="Publishes reach a stream and are not stored.",
    description=f"{STREAM} did not store {PERCENT} of the publishes that reached it in the last 15 "
    "minutes: they were duplicates, or were rejected.",
    condition="More than <publish_unstored_ratio> of the publishes that reached the stream are not "
    "stored. Needs the system or monitor source.",
    board=Board.PUBLISH,
)

DEDUPE_MEMORY_HIGH = Alert(
    name="DedupeMemoryHigh",
    severity=Severity.WARNING,
    when=latest(catalog.STREAM_DEDUPE_WINDOW_MESSAGES) * thresholds.DEDUPE_ID_MEMORY
    > thresholds.DEDUPE_MEMORY,
    for_="1h",
    summary="The message ids of a stream's duplicate window may use much memory.",
    description=f"{STREAM} stores so many messages within its duplicate window that their ids, if "
    "all have one, take {{ $value | humanize1024 }}B of memory on each replica.",
    condition="Messages stored within the duplicate window, at <dedupe_id_memory> each, take more "
    "than <dedupe_memory>.",
    board=Board.PUBLISH,
)

GROUPS = (Group("streamgauge.publishing", (CONFLICTS_HIGH, NOT_STORED, DEDUPE_MEMORY_HIGH)),)
