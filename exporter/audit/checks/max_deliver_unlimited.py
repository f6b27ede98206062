"""A message that always fails is delivered for ever."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        if config.max_deliver is None:
            yield of_consumer(
                row, f"max_deliver -1, {row.num_redelivered:,} messages redelivered now"
            )


CHECK = Check(
    code="max-deliver-unlimited",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="Deliveries of one message are not limited",
    meaning="A message that no worker can handle is delivered again without end.",
    condition="The consumer wants acknowledgements and max_deliver is -1.",
    why=(
        "One poisoned message takes a place in max_ack_pending and worker time for ever, and on "
        "workqueue and interest streams it is never removed."
    ),
    remedy=(
        "First keep the MAX_DELIVERIES advisory in a stream, so that what runs out is not "
        "forgotten. Then set a limit that outlasts your longest outage, together with a backoff: "
        "messages that were delivered N times already are given up at once. FIRST takes the place "
        "of ack_wait, so it must not be shorter than the work takes; N must be above STEPS."
    ),
    commands=(
        "nats stream add DEAD_LETTERS --subjects '$JS.EVENT.ADVISORY.*.MAX_DELIVERIES.>' --max-age 30d --defaults",
        "nats consumer edit STREAM CONSUMER --max-deliver N --backoff linear --backoff-steps STEPS --backoff-min FIRST --backoff-max LAST",
    ),
    find=find,
)
