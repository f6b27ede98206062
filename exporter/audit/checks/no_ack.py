"""Publishers get no answer."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import listed


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.no_ack:
            yield of_stream(row, f"no_ack true, takes {listed(config.subjects)}")


CHECK = Check(
    code="no-ack",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Publishes are not acknowledged",
    meaning="The stream stores what is published but does not answer, so publishers cannot know.",
    condition="no_ack is true.",
    why=(
        "A message that is refused or lost on the way is lost without anybody noticing, and "
        "publishers that wait for the answer time out."
    ),
    remedy=(
        "Switch acknowledgements on, unless the stream listens to subjects whose publishers "
        "expect another answer."
    ),
    commands=("nats stream edit STREAM --ack",),
    find=find,
)
