"""Nobody learns of messages that run out of deliveries."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.findings import of_consumer
from exporter.model import Consumer
from exporter.signals.publishes.dead_letters import Captures


def find(scene: AuditContext) -> Iterator[Finding]:
    captures = Captures.of(scene.snapshot.streams, scene.snapshot.subscriptions)
    partly_known = _partly_known(scene)
    for row, config in scene.acking_consumers:
        if config.max_deliver is None or row.account in partly_known:
            continue
        heard = _heard(scene, captures, row)
        if heard == 1:
            continue
        others = "nobody subscribes to it" if heard == 0 else "subscribers cannot be seen from here"
        limit = f"max_deliver {config.max_deliver:,}"
        yield of_consumer(row, f"{limit}; no stream keeps its advisory, {others}")


def _heard(scene: AuditContext, captures: Captures, row: Consumer) -> int | None:
    """What the poller has learnt lasts longer than the one look that read the subscriptions."""
    told = scene.publishes.consumers.get(consumer_key(row))
    if told is not None and told.dead_letter_captured is not None:
        return told.dead_letter_captured
    return captures.captured(row)


def _partly_known(scene: AuditContext) -> frozenset[str]:
    """A stream that is not known may be the one that keeps the advisories."""
    return frozenset(row.account for row in scene.snapshot.streams if row.config is None)


CHECK = Check(
    code="no-dead-letter",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="Messages that run out of deliveries are noted nowhere",
    meaning=(
        "When a message reaches max_deliver the server says so once, and nothing that can be "
        "seen from here listens."
    ),
    condition=(
        "max_deliver is finite, no stream of the account has subjects that cover the consumer's "
        "MAX_DELIVERIES advisory, and, where subscriptions can be read, nobody subscribes to "
        "it."
    ),
    why=(
        "The message is neither acknowledged nor delivered again; without the advisory nobody "
        "knows its sequence, and retention may remove it."
    ),
    remedy=(
        "Keep the advisories in a stream of their own and let somebody work on it; the advisory "
        "names the stream and the sequence, the message itself is read with nats stream get."
    ),
    commands=(
        "nats stream add DEAD_LETTERS --subjects '$JS.EVENT.ADVISORY.*.MAX_DELIVERIES.>' --max-age 30d --defaults",
    ),
    find=find,
)
