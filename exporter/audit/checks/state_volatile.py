"""A durable consumer whose position is safe in fewer places than the messages."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        found = scene.stream_of(row)
        if not config.durable or found is None:
            continue
        copies = found[1].replicas
        own = config.replicas or copies
        if config.memory_storage and own == 1:
            yield of_consumer(
                row, f"state in memory on one server, the stream has {copies} on {found[1].storage}"
            )
        elif own < copies:
            yield of_consumer(row, f"{own} of the {copies} servers of its stream have its state")


CHECK = Check(
    code="state-volatile",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="The position of a durable consumer is less safe than its stream",
    meaning=(
        "A restart or the loss of one server takes the consumer's position away although the "
        "messages stay."
    ),
    condition=(
        "The consumer is durable and either keeps its state in memory with one replica, or has "
        "a num_replicas of its own that is below the stream's."
    ),
    why=(
        "The consumer is gone after the restart, or cannot be reached while its server is down, "
        "and messages are skipped or done twice when it is made again."
    ),
    remedy=(
        "Let it have the stream's replicas; memory storage cannot be changed, such a consumer "
        "has to be replaced by one without it."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --replicas REPLICAS_OF_STREAM",
        "nats consumer info STREAM CONSUMER",
    ),
    find=find,
)
