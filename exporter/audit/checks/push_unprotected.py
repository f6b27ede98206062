"""A push consumer without flow control or heartbeat."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        if config.kind != "push" or config.deliver_group:
            continue
        missing = []
        if not config.flow_control:
            missing.append("flow control")
        if config.idle_heartbeat_seconds is None:
            missing.append("idle heartbeat")
        if missing:
            yield consumer_finding(row, f"push without {' and '.join(missing)}")


CHECK = Check(
    code="push-unprotected",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A push consumer without flow control or heartbeat",
    meaning="The server pushes as fast as it can, or the client cannot detect missed messages.",
    condition=(
        "There is a deliver subject without a deliver group, and flow control or the idle "
        "heartbeat is missing."
    ),
    why=(
        "A slow client is disconnected as a slow consumer and misses messages. Without heartbeats "
        "it detects neither this nor a deleted consumer."
    ),
    remedy=(
        "Use a pull consumer, or a push consumer with flow control and heartbeats. Neither can be "
        "enabled later, so create a new consumer."
    ),
    commands=(
        "nats consumer add STREAM NEW_CONSUMER --pull --deliver SEQUENCE --defaults",
        "nats consumer add STREAM NEW_CONSUMER --target DELIVER_SUBJECT --flow-control --heartbeat 10s --deliver SEQUENCE --defaults",
    ),
    find=find,
)
