"""Messages were removed before this consumer received them."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import plural
from exporter.model import ConsumerConfig, StreamConfig
from exporter.signals.loss.coverage import sees_everything


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        found = context.stream_of(row)
        if found is None or not _reads_in_order(config, found[1]):
            continue
        reached, first = row.delivered_stream_seq, row.stream_first_seq
        if row.delivered_consumer_seq > 0 and reached + 1 < first:
            missed = plural(first - 1 - reached, "sequence")
            evidence = f"delivered up to {reached:,}, first sequence {first:,}: {missed} missed"
            yield consumer_finding(row, evidence)


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
    title="Messages were removed before this consumer received them",
    meaning="The first sequence of the stream is after the position of the consumer.",
    condition=(
        "A consumer without a filter, on a stream with limits retention that is not a bucket or "
        "object store, has delivered messages. The sequence after its last delivery is below the "
        "first sequence of the stream."
    ),
    why=(
        "Limits or deletes removed the sequences in between before delivery. The server skips "
        "them without an error."
    ),
    remedy=(
        "Restore the messages from a mirror or a backup if you need them. Keep messages longer, "
        "or make the consumer faster. A max_age below the current one deletes what exceeds it."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats stream edit STREAM --max-age LONGER_AGE",
    ),
    find=find,
)
