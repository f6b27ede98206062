"""A push consumer whose client cannot notice what it missed."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        if config.kind != "push" or config.deliver_group:
            continue
        missing = []
        if not config.flow_control:
            missing.append("flow control")
        if config.idle_heartbeat_seconds is None:
            missing.append("idle heartbeat")
        if missing:
            yield of_consumer(row, f"push without {' and '.join(missing)}")


CHECK = Check(
    code="push-unprotected",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A push consumer without flow control or heartbeat",
    meaning="The server pushes as fast as it can, and the client cannot tell silence from loss.",
    condition=(
        "There is a deliver subject without a deliver group, and flow control or the idle "
        "heartbeat is missing."
    ),
    why=(
        "A client that is too slow is disconnected as a slow consumer and misses messages; "
        "without heartbeats it does not notice, nor that the consumer is gone."
    ),
    remedy=(
        "Use a pull consumer, or one with flow control and heartbeats; neither can be switched "
        "on later, so make another one."
    ),
    commands=(
        "nats consumer add STREAM NEW_CONSUMER --pull --deliver SEQUENCE --defaults",
        "nats consumer add STREAM NEW_CONSUMER --target DELIVER_SUBJECT --flow-control --heartbeat 10s --deliver SEQUENCE --defaults",
    ),
    find=find,
)
