"""Many deliveries, all with the same wait between them."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.audit.units import span

MANY = 10


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        limit = config.max_deliver
        if limit is not None and limit > MANY and not config.backoff_seconds:
            wait = span(config.ack_wait_seconds or 0)
            yield of_consumer(row, f"max_deliver {limit:,}, every {wait}")


CHECK = Check(
    code="max-deliver-high",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="Many deliveries without a backoff",
    meaning="A failing message is delivered many times at an even pace.",
    condition=(
        "The consumer wants acknowledgements, max_deliver is above 10 and there is no backoff."
    ),
    why=(
        "While something downstream is broken each message is tried over and over as fast as "
        "ack_wait allows, and workers are kept busy with failures."
    ),
    remedy=(
        "Set a backoff whose steps grow, so that the same number of deliveries outlasts a longer "
        "outage. FIRST takes the place of ack_wait, so it must not be shorter than the work "
        "takes; STEPS must be below max_deliver."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --backoff linear --backoff-steps STEPS --backoff-min FIRST --backoff-max LAST",
    ),
    find=find,
)
