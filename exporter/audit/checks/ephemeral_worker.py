"""An ephemeral consumer decides what a stream keeps."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.about import of_consumer
from exporter.audit.amounts import HOUR, span
from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.idle import age
from exporter.audit.scene import Scene

OLD_SECONDS = HOUR


def find(scene: Scene) -> Iterator[Finding]:
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
        "Give it a durable name: copy it under one and let the workers use that; on a "
        "workqueue, where two may not take the same subjects, remove the old one first."
    ),
    commands=("nats consumer copy STREAM CONSUMER DURABLE_NAME",),
    find=find,
)
