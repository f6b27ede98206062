"""The state of a durable consumer is less safe than its stream."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import plural


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        found = context.stream_of(row)
        if not config.durable or found is None:
            continue
        replicas = found[1].replicas
        own = config.replicas or replicas
        if config.memory_storage and own == 1:
            stream = f"{found[1].storage}, {plural(replicas, 'replica')}"
            yield consumer_finding(row, f"state in memory, 1 replica; stream: {stream}")
        elif own < replicas:
            yield consumer_finding(row, f"{plural(own, 'replica')}, its stream has {replicas}")


CHECK = Check(
    code="state-volatile",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="The state of a durable consumer is less safe than its stream",
    meaning=(
        "A restart or the loss of one server loses the consumer's position, although the messages "
        "stay."
    ),
    condition=(
        "The consumer is durable. It keeps its state in memory with one replica, or its "
        "num_replicas is below that of the stream."
    ),
    why=(
        "The consumer is lost after a restart, or unavailable while its server is down. After it "
        "is recreated, messages are skipped or processed twice."
    ),
    remedy=(
        "Use the replicas of the stream. Memory storage cannot be changed, so replace such a "
        "consumer by a new one."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --replicas REPLICAS_OF_STREAM",
        "nats consumer info STREAM CONSUMER",
    ),
    find=find,
)
