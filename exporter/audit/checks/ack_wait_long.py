"""A message of a dead worker waits long for another one."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.ack_times import slowest
from exporter.audit.findings import of_consumer
from exporter.audit.units import MINUTE, span

LONG_SECONDS = 30 * MINUTE
# Below this nobody waits long, however fast the workers are.
PATIENCE_SECONDS = 2 * MINUTE
TIMES = 10


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        wait = config.ack_wait_seconds
        if wait is None or config.backoff_seconds:
            continue
        if wait >= LONG_SECONDS:
            yield of_consumer(row, f"ack_wait {span(wait)}")
            continue
        taken = slowest(scene, row) if wait > PATIENCE_SECONDS else None
        if taken is not None and wait > TIMES * taken.high:
            yield of_consumer(row, f"ack_wait {span(wait)}; {taken.text}")


CHECK = Check(
    code="ack-wait-long",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="ack_wait is long",
    meaning="A message whose worker died waits long before another one gets it.",
    condition=(
        "ack_wait is 30 min or longer, or above 2 min and above ten times the p99 of the time "
        "to acknowledge."
    ),
    why=(
        "After each crash or deployment the messages in flight stand still for that long, and "
        "so does the ack floor."
    ),
    remedy=(
        "Set ack_wait to a few times the slowest usual work and let workers with longer work "
        "report progress; what takes longer than ack_wait is done twice."
    ),
    commands=("nats consumer edit STREAM CONSUMER --wait SHORTER",),
    find=find,
)
