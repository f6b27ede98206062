"""A consumer that is made again starts where its policy says, not where it was."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject, Unknown
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.findings import of_consumer
from exporter.audit.units import some
from exporter.model import Consumer

COSTS = {
    "new": "skips what came meanwhile",
    "last": "skips all but the last message",
    "all": "does everything again",
}


def find(scene: AuditContext) -> Iterator[Finding | Unknown]:
    for row, config in scene.consumers:
        times = _recreated(scene, row)
        if times > 0 and config.deliver_policy in COSTS:
            cost = COSTS[config.deliver_policy]
            made = some(times, "time")
            yield of_consumer(
                row, f"made again {made}; deliver policy {config.deliver_policy} {cost}"
            )
    # One look counts nothing: that no number rose says nothing of what was made again before.
    if scene.history is None and scene.earlier is None:
        yield Unknown(reason="only rollups or a second look know what was made again")


def _recreated(scene: AuditContext, row: Consumer) -> int:
    told, known = scene.consumer_signals(row), None
    if scene.history is not None:
        known = scene.history.recreated(consumer_key(row))
    return max(told.recreated if told else 0, int(known or 0))


CHECK = Check(
    code="recreate-hazard",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A consumer that is made again starts in the wrong place",
    meaning=(
        "The consumer was deleted and made again, and its deliver policy does not continue "
        "where it was."
    ),
    condition=(
        "It was made again since the exporter started or, by the rollups, within 30 days, and "
        "its deliver policy is new, last or all."
    ),
    why="With new and last the messages of the gap are skipped, with all everything is done again.",
    remedy=(
        "Stop applications from deleting and creating it at their start; when it has to be made "
        "again, start it after the last acknowledged sequence."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER --json",
        "nats consumer add STREAM CONSUMER --pull --deliver SEQUENCE --defaults",
    ),
    find=find,
)
