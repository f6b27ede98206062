"""A stream that refuses new messages is nearly full."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import size

NEAR = 0.9
# A smaller limit is meant to be reached.
LEAST = 10


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.discard != "new":
            continue
        messages, most = config.max_messages, config.max_bytes
        if messages is not None and messages >= LEAST and row.messages >= NEAR * messages:
            yield of_stream(row, f"{row.messages:,} of {messages:,} messages, discard new")
        elif most is not None and row.bytes >= NEAR * most:
            yield of_stream(row, f"{size(row.bytes)} of {size(most)}, discard new")


CHECK = Check(
    code="stream-limit-near",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A stream that refuses when full is nearly full",
    meaning="The stream is nearly full and refuses new messages when it is.",
    condition=(
        "Discard new, and messages reach 90 % of a limit of 10 or more, or bytes 90 % of theirs."
    ),
    why="Publishers are refused when the limit is reached.",
    remedy="Work off what waits, or raise the limit that is near.",
    commands=(
        "nats stream edit STREAM --max-bytes MORE_BYTES",
        "nats stream edit STREAM --max-msgs MORE_MESSAGES",
    ),
    find=find,
)
