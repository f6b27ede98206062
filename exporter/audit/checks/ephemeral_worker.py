"""An ephemeral consumer decides what a stream keeps."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.idle_time import age
from exporter.audit.findings import of_consumer
from exporter.audit.units import HOUR, span

OLD_SECONDS = HOUR


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        found, old = scene.stream_of(row), age(row.created, scene.now)
        if config.durable or found is None or old is None or old <= OLD_SECONDS:
            continue
        retention = found[1].retention
        if retention in ("interest", "workqueue"):
            yield of_consumer(
                row, f"ephemeral for {span(old)} on a stream with {retention} retention"
            )


CHECK = Check(
    code="ephemeral-worker",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="An ephemeral consumer decides what a stream keeps",
    meaning=(
        "A consumer without a durable name works on a stream whose retention depends on its "
        "consumers."
    ),
    condition=(
        "The consumer is not durable, the stream's retention is interest or workqueue, and the "
        "consumer is older than an hour."
    ),
    why=(
        "When its client is away for the inactive threshold it is deleted: an interest stream "
        "then drops messages that nobody saw, a workqueue holds them with nobody to take them."
    ),
    remedy=(
        "Give it a durable name. On an interest stream copy it, starting after the last "
        "acknowledged sequence, and remove the old one only when the workers use the copy; "
        "without a threshold of its own the copy is deleted when idle, as the old one is. A "
        "workqueue allows no second one and delivers all that is left: there remove the old one, "
        "then add the other."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer copy STREAM CONSUMER DURABLE_NAME --deliver SEQUENCE --inactive-threshold 30d",
        "nats consumer add STREAM DURABLE_NAME --pull --deliver all --defaults",
    ),
    find=find,
)
