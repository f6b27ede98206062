"""Messages without an id on a stream with deduplication."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.facts import dedupe
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity

ENOUGH = 0.99


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        sample = (context.messages or {}).get(stream_key(row))
        if (
            sample is None
            or sample.read == 0
            or config.mirror
            or not dedupe.is_meant(context, row, config)
        ):
            continue
        if sample.with_id < ENOUGH * sample.read:
            yield stream_finding(
                row, f"{sample.with_id:,} of the last {sample.read:,} messages have an id"
            )


CHECK = Check(
    code="ids-missing",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Messages without an id on a stream with deduplication",
    meaning="Some publishers send no Nats-Msg-Id although the stream is set up for deduplication.",
    condition=(
        "Less than 99 % of the sampled last messages have a Nats-Msg-Id, and deduplication is "
        "used: some have one, duplicates were dropped, the duplicate window is not the default of "
        "120 s, or the owner's metadata says so."
    ),
    why="A message without an id is stored again with each retry.",
    remedy="Let every publisher set an id that is unique per message and the same for all retries.",
    commands=("nats stream get STREAM --last-for SUBJECT",),
    needs=frozenset({Need.MESSAGES}),
    find=find,
)
