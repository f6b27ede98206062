"""Nobody has got anything from this consumer for a month."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.idle_time import delivered_nothing_for
from exporter.audit.findings import of_consumer
from exporter.audit.units import DAY, span

LONG_SECONDS = 30 * DAY


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        idle = delivered_nothing_for(row, scene.now)
        if config.durable and idle is not None and idle > LONG_SECONDS:
            ever = "nothing delivered" if row.delivered_consumer_seq else "nothing ever delivered"
            yield of_consumer(row, f"{ever} for {span(idle)}, {row.num_pending:,} waiting")


CHECK = Check(
    code="consumer-inactive",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="A durable consumer delivers nothing",
    meaning="The durable consumer has not delivered a message for 30 days.",
    condition=(
        "The consumer is durable, and its last delivery is more than 30 days ago, or it never "
        "delivered anything and is older than that."
    ),
    why=(
        "It may belong to something that is gone; it still costs memory and disk on each of its "
        "servers, and on interest and workqueue streams it holds messages back."
    ),
    remedy=(
        "Ask its owner; remove it when nobody needs its position any more. Removing cannot be "
        "undone."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer rm STREAM CONSUMER",
    ),
    find=find,
)
