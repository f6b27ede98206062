"""Retries of a message have another id."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity

# One repetition may be two messages that are equal by chance.
LEAST = 2


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        sample = (context.messages or {}).get(stream_key(row))
        if sample is None or config.mirror or sample.renamed < LEAST:
            continue
        yield stream_finding(
            row,
            f"{sample.renamed:,} of the last {sample.read:,} messages repeat another one with "
            "another id",
        )


CHECK = Check(
    code="ids-unstable",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Retries of a message have another id",
    meaning="Publishers probably make a new Nats-Msg-Id for each attempt.",
    condition=(
        "At least 2 of the sampled last messages have the subject and the payload of another one, "
        "and another Nats-Msg-Id. Payloads below 16 bytes do not count."
    ),
    why="The server takes each attempt for a new message, and stores it again.",
    remedy=(
        "Let publishers make the id from the message, or make it once before the first attempt. "
        "If equal messages are intended, ignore this check in the metadata."
    ),
    commands=("nats stream get STREAM --last-for SUBJECT",),
    needs=frozenset({Need.MESSAGES}),
    find=find,
)
