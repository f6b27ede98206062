"""A full workqueue drops the oldest messages."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import size


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.with_retention("workqueue"):
        messages, most = config.max_messages, config.max_bytes
        if config.discard != "old" or (messages is None and most is None):
            continue
        limits = [f"{messages:,} messages"] if messages is not None else []
        limits += [size(most)] if most is not None else []
        yield stream_finding(row, f"discard old at {' or '.join(limits)}, {row.messages:,} stored")


CHECK = Check(
    code="workqueue-drops",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A full workqueue drops the oldest messages",
    meaning="When the workqueue is full, the server removes the oldest unprocessed messages.",
    condition="Workqueue retention with discard old and a limit of messages or bytes.",
    why="During a long outage of the workers, messages are lost without an error.",
    remedy="Use discard new, so that publishers get an error.",
    commands=("nats stream edit STREAM --discard new",),
    find=find,
)
