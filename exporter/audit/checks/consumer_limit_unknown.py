"""The owner wrote a limit that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.owner_limits import CONSUMER_LIMITS, unknown_limits
from exporter.audit.findings import of_consumer
from exporter.audit.units import listed


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        if keys := unknown_limits(config.thresholds, CONSUMER_LIMITS):
            yield of_consumer(row, f"no limit of a consumer: {listed(keys)}")


CHECK = Check(
    code="consumer-limit-unknown",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="The consumer's metadata name a limit that does not exist",
    meaning="A key of the owner's limits is none that anybody looks at.",
    condition="The metadata have a key io.nats.monitor.* that is not one for consumers.",
    why="Mostly a slip of the pen: the owner believes to be warned, and nobody looks at it.",
    remedy=(
        "Correct the key; the list is in the documentation of Streamgauge and of nats server "
        "check consumer. Give all keys again: --metadata replaces them."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer edit STREAM CONSUMER --metadata KEY=VALUE --metadata OTHER_KEY=VALUE",
    ),
    since="2.10",
    find=find,
)
