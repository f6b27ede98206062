"""Messages that reach max_deliver are not recorded."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.model import Consumer
from exporter.signals.publishes.dead_letters import Captures


def find(context: AuditContext) -> Iterator[Finding]:
    captures = Captures.of(context.snapshot.streams, context.snapshot.subscriptions)
    partly_known = _partly_known(context)
    for row, config in context.acking_consumers:
        if config.max_deliver is None or row.account in partly_known:
            continue
        captured = _captured(context, captures, row)
        if captured == 1:
            continue
        subscribers = "no subscriber" if captured == 0 else "subscribers are not known"
        limit = f"max_deliver {config.max_deliver:,}"
        yield consumer_finding(row, f"{limit}; no stream stores its advisory, {subscribers}")


def _captured(context: AuditContext, captures: Captures, row: Consumer) -> int | None:
    """Prefers the state of the poller: not every poll fetches the subscriptions."""
    replies = context.publishes.consumers.get(consumer_key(row))
    if replies is not None and replies.dead_letter_captured is not None:
        return replies.dead_letter_captured
    return captures.captured(row)


def _partly_known(context: AuditContext) -> frozenset[str]:
    """Accounts with a stream of unknown configuration: it may store the advisories."""
    return frozenset(row.account for row in context.snapshot.streams if row.config is None)


CHECK = Check(
    code="no-dead-letter",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="Messages that reach max_deliver are not recorded",
    meaning=(
        "The server sends one advisory when a message reaches max_deliver, and no known stream or "
        "subscriber receives it."
    ),
    condition=(
        "max_deliver is finite, and no stream of the account has subjects that cover the "
        "consumer's MAX_DELIVERIES advisory. If subscriptions are known, no client subscribes to "
        "it either."
    ),
    why=(
        "The message is neither acknowledged nor redelivered. Without the advisory its sequence "
        "is unknown, and retention may remove it."
    ),
    remedy=(
        "Store the advisories in a stream and process it. An advisory has the stream and the "
        "sequence; read the message with nats stream get."
    ),
    commands=(
        "nats stream add DEAD_LETTERS --subjects '$JS.EVENT.ADVISORY.*.MAX_DELIVERIES.>' --max-age 30d --defaults",
    ),
    find=find,
)
