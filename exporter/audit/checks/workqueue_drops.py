"""A full queue throws the oldest work away."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import size


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.filtered("workqueue"):
        messages, most = config.max_messages, config.max_bytes
        if config.discard != "old" or (messages is None and most is None):
            continue
        limits = [f"{messages:,} messages"] if messages is not None else []
        limits += [size(most)] if most is not None else []
        yield of_stream(row, f"discard old at {' or '.join(limits)}, {row.messages:,} wait now")


CHECK = Check(
    code="workqueue-drops",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A full queue drops the oldest work",
    meaning="When the queue is full the server removes the oldest work that nobody has done.",
    condition="Workqueue retention with discard old and a limit of messages or bytes.",
    why="In the outage for which the queue was built, work disappears without an error to anybody.",
    remedy="Let the stream refuse new messages instead, so that publishers know.",
    commands=("nats stream edit STREAM --discard new",),
    find=find,
)
