"""Publishes that a stream does not store, and the memory of deduplication."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import PERCENT, STREAM, own, query_value
from alerts.queries import holds, increase, latest, samples
from alerts.rule import Alert, Board, Group, Severity
from alerts.subjects.populations import without_buckets
from exporter import catalog
from streamgauge.promql.expression import Expression
from streamgauge.promql.selectors import Regex

# Wrong last sequence, the same by its other name, and wrong last message id.
_CONFLICTS = Regex("10070|10071|10164")
_conflicts = increase(catalog.STREAM_PUBLISH_REJECTIONS, "15m", code=_CONFLICTS).sum_without("code")
_received = increase(catalog.STREAM_PUBLISHES_RECEIVED, "15m")
# The account source has no count of received publishes; the stored ones come closest.
_published = _received.or_(increase(catalog.STREAM_STORED_MESSAGES, "15m") + _conflicts)

_unstored = increase(catalog.STREAM_PUBLISHES_UNSTORED, "15m")
# Where acknowledgements show them, duplicates are known: deduplication works.
_duplicates = increase(catalog.STREAM_DEDUPE_HITS, "15m").where(
    latest(catalog.STREAM_DEDUPE_EXACT).equals(1)
)
_rejected = (_unstored - _duplicates).or_(_unstored)


# Rejections of the window are explained if it was full at some time of it.
_was_full = samples(
    catalog.STREAM_CONDITION_START_TIMESTAMP_SECONDS,
    "last_over_time",
    "15m",
    match={"condition": Regex("full|back_pressure")},
).folded(by=catalog.STREAM)


def _meant(when: Expression) -> Expression:
    """Key-value buckets reject by design (compare and set), and so may writers of the same ids."""
    return without_buckets(when).unless(holds(catalog.STREAM_INFO, idempotent_writers="true"))


# Clamped: counters of different moments.
_not_stored = _meant(_rejected.over(_received).clamp_max(1) > thresholds.PUBLISH_UNSTORED_RATIO)

CONFLICTS_HIGH = Alert(
    name="PublishConflictsHigh",
    severity=Severity.WARNING,
    when=_meant(_conflicts.over(_published).clamp_max(1) > thresholds.PUBLISH_CONFLICT_RATIO),
    for_="15m",
    summary="Publishes are rejected for a wrong expected sequence or message id.",
    description=f"{STREAM} rejected {PERCENT} of the publishes of the last 15 minutes for a wrong "
    "last sequence or message id: several writers race, or one retries with an old sequence.",
    condition="More than <publish_conflict_ratio> of the publishes are rejected with 10070, 10071 "
    "or 10164. Needs the publish-ack tap. Not on key-value and object streams, nor where the owner "
    "set io.streamgauge.idempotent-writers.",
    board=Board.PUBLISH,
)

NOT_STORED = Alert(
    name="PublishesNotStored",
    severity=Severity.WARNING,
    when=_not_stored.unless(_was_full),
    for_="15m",
    summary="Publishes reach a stream and are not stored.",
    description=f"{STREAM} did not store {PERCENT} of the publishes that reached it in the last 15 "
    "minutes: "
    + query_value(
        own(catalog.STREAM_DEDUPE_EXACT).equals(1),
        "they were rejected. Duplicates are not among them.",
        "they were rejected, or were duplicates, which only the publish-ack tap can distinguish.",
    ),
    condition="More than <publish_unstored_ratio> of the publishes that reached the stream are not "
    "stored. Needs the system or monitor source. Duplicates that the publish-ack tap has seen do not "
    "count. Not where the stream was full with discard new: publishers get an error, and "
    "JetStreamStreamFull pages unless it is back pressure. Not on key-value and object streams, nor "
    "where the owner set io.streamgauge.idempotent-writers.",
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
