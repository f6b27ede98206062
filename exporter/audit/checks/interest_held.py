"""A forgotten consumer keeps everything on an interest stream."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.idle_time import delivered_nothing_for
from exporter.audit.findings import of_consumer
from exporter.audit.units import DAY, span

LONG_SECONDS = 7 * DAY


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        found, idle = scene.stream_of(row), delivered_nothing_for(row, scene.now)
        if found is None or found[1].retention != "interest" or not config.durable:
            continue
        unused = not (row.num_waiting or row.push_bound or row.paused)
        if unused and row.num_pending and idle is not None and idle > LONG_SECONDS:
            evidence = (
                f"nothing delivered for {span(idle)}, holds back {row.num_pending:,} messages"
            )
            yield of_consumer(row, evidence)


CHECK = Check(
    code="interest-held",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A consumer that nobody uses holds an interest stream back",
    meaning=(
        "Messages of an interest stream are kept for a durable consumer that nobody asks any more."
    ),
    condition=(
        "Interest retention, the consumer is durable and not paused, messages are pending, no "
        "pull request waits and no subscriber is bound, and nothing was delivered for 7 days."
    ),
    why=(
        "An interest stream removes a message only when every consumer has acknowledged it; "
        "this one lets it grow until its limits."
    ),
    remedy=(
        "Start the workers of this consumer again, or remove it when its owner is gone. "
        "Removing cannot be undone."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer rm STREAM CONSUMER",
    ),
    find=find,
)
