"""Checks of the limits that owners write into metadata, for streams and for consumers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any, Final

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding, stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import listed
from exporter.model import ConsumerConfig, StreamConfig

# Metadata needs server 2.10.
_SINCE: Final = "2.10"
_WHY: Final = "The owner relies on this key, but it has no effect."


@dataclass(frozen=True, slots=True)
class LimitedAsset:
    """What differs between the limits of streams and those of consumers."""

    subject: Subject
    keys: frozenset[str]  # of io.nats.monitor.*
    rows: Callable[[AuditContext], Iterable[tuple[Any, StreamConfig | ConsumerConfig]]]
    finding: Callable[[Any, str], Finding]
    operands: str  # of the nats CLI

    @property
    def commands(self) -> tuple[str, ...]:
        return (
            f"nats {self.subject} info {self.operands}",
            f"nats {self.subject} edit {self.operands} --metadata KEY=VALUE --metadata OTHER_KEY=VALUE",
        )


STREAM: Final = LimitedAsset(
    subject=Subject.STREAM,
    keys=frozenset(
        {
            "enabled", "lag-critical", "seen-critical", "min-sources", "max-sources",
            "peer-expect", "peer-lag-critical", "peer-seen-critical", "msgs-warn",
            "msgs-critical", "subjects-warn", "subjects-critical",
        }
    ),
    rows=lambda context: context.streams,
    finding=stream_finding,
    operands="STREAM",
)  # fmt: skip
CONSUMER: Final = LimitedAsset(
    subject=Subject.CONSUMER,
    keys=frozenset(
        {
            "enabled", "outstanding-ack-critical", "waiting-critical", "unprocessed-critical",
            "last-delivery-critical", "last-ack-critical", "redelivery-critical", "pinned",
        }
    ),
    rows=lambda context: context.consumers,
    finding=consumer_finding,
    operands="STREAM CONSUMER",
)  # fmt: skip


def unreadable_limit_check(code: str, asset: LimitedAsset) -> Check:
    def find(context: AuditContext) -> Iterator[Finding]:
        for row, config in asset.rows(context):
            if keys := _unreadable_keys(config, asset.keys):
                yield asset.finding(row, f"invalid value of {listed(keys)}")

    return Check(
        code=code,
        severity=Severity.WARN,
        subject=asset.subject,
        title=f"A key in the {asset.subject}'s metadata has an invalid value",
        meaning="The value of a limit or of an owner's note in the metadata cannot be parsed.",
        condition=(
            "A known key of io.nats.monitor.* or io.streamgauge.* has a value that is not a "
            "number, duration, boolean, severity or schedule as required."
        ),
        why=_WHY,
        remedy=(
            "Write the value as the nats CLI does, for example 1000, 5m or true. Give all keys "
            "again: --metadata replaces them."
        ),
        commands=asset.commands,
        since=_SINCE,
        find=find,
    )


def unknown_limit_check(code: str, asset: LimitedAsset) -> Check:
    def find(context: AuditContext) -> Iterator[Finding]:
        for row, config in asset.rows(context):
            if keys := _unknown_keys(config, asset.keys):
                yield asset.finding(row, f"unknown {asset.subject} key {listed(keys)}")

    return Check(
        code=code,
        severity=Severity.INFO,
        subject=asset.subject,
        title=f"The {asset.subject}'s metadata has an unknown key",
        meaning="A key of the owner's limits or notes in the metadata is unknown.",
        condition=(
            "The metadata has a key io.nats.monitor.* or io.streamgauge.* that a "
            f"{asset.subject} does not have."
        ),
        why=f"The key is probably misspelt. {_WHY}",
        remedy=(
            "Correct the key. The keys are in the documentation of Streamgauge and of nats server "
            f"check {asset.subject}. Give all keys again: --metadata replaces them."
        ),
        commands=asset.commands,
        since=_SINCE,
        find=find,
    )


def _unreadable_keys(config: StreamConfig | ConsumerConfig, known: Set[str]) -> tuple[str, ...]:
    if not config.thresholds.unreadable and not config.notes.unreadable:
        return ()  # the usual case, for very many assets
    limits = [f"io.nats.monitor.{name}" for name in config.thresholds.unreadable if name in known]
    return (*limits, *(f"io.streamgauge.{name}" for name in config.notes.unreadable))


def _unknown_keys(config: StreamConfig | ConsumerConfig, known: Set[str]) -> tuple[str, ...]:
    limits, notes = config.thresholds, config.notes
    if not limits.limits and not limits.unreadable and not notes.unknown:
        return ()
    names = [*(name for name, _ in limits.limits), *limits.unreadable]
    unknown = [f"io.nats.monitor.{name}" for name in sorted(names) if name not in known]
    return (*unknown, *(f"io.streamgauge.{name}" for name in notes.unknown))
