"""The stream has moved on further than the consumer has read."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.audit.units import some
from exporter.model import ConsumerConfig, StreamConfig
from exporter.signals.coverage import sees_everything


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        found = scene.stream_of(row)
        if found is None or not _reads_in_order(config, found[1]):
            continue
        reached, first = row.delivered_stream_seq, row.stream_first_seq
        if row.delivered_consumer_seq > 0 and reached + 1 < first:
            unseen = some(first - 1 - reached, "sequence")
            evidence = (
                f"delivered up to {reached:,}, the stream begins at {first:,}: {unseen} unseen"
            )
            yield of_consumer(row, evidence)


def _reads_in_order(config: ConsumerConfig, stream: StreamConfig) -> bool:
    return (
        stream.retention == "limits"
        and stream.kind == "stream"
        and config.deliver_policy != "last_per_subject"
        and sees_everything(config, stream)
    )


CHECK = Check(
    code="delivered-below-first",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="Messages were removed before this consumer saw them",
    meaning="The stream now begins after the place that the consumer has reached.",
    condition=(
        "On a stream with limits retention that is neither a bucket nor an object store, a "
        "consumer without a filter has delivered something, and the sequence after its last "
        "delivery is below the first of the stream."
    ),
    why=(
        "The sequences in between were removed by limits or deleted unseen; the server skips "
        "them without a word."
    ),
    remedy=(
        "If they mattered take them from a mirror or a backup; keep messages longer or make the "
        "consumer faster. An age shorter than the present one deletes what exceeds it."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats stream edit STREAM --max-age LONGER_AGE",
    ),
    find=find,
)
