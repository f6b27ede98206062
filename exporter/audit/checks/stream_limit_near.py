"""A stream with discard new is nearly full."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import size

NEAR = 0.9
# A smaller limit is usually reached on purpose.
LEAST = 10


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.discard != "new":
            continue
        messages, most = config.max_messages, config.max_bytes
        if messages is not None and messages >= LEAST and row.messages >= NEAR * messages:
            yield stream_finding(row, f"{row.messages:,} of {messages:,} messages, discard new")
        elif most is not None and row.bytes >= NEAR * most:
            yield stream_finding(row, f"{size(row.bytes)} of {size(most)}, discard new")


CHECK = Check(
    code="stream-limit-near",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A stream with discard new is nearly full",
    meaning="The stream is nearly full and rejects new messages when it is full.",
    condition=(
        "Discard new, and messages reach 90 % of a limit of 10 or more, or bytes reach 90 % of "
        "their limit."
    ),
    why="Publishers are rejected when the limit is reached.",
    remedy="Process the pending messages, or raise the limit.",
    commands=(
        "nats stream edit STREAM --max-bytes MORE_BYTES",
        "nats stream edit STREAM --max-msgs MORE_MESSAGES",
    ),
    find=find,
)
