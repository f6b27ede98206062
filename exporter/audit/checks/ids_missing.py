"""Publishers are meant to send message ids, and some do not."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.findings import of_stream
from exporter.model import Stream, StreamConfig

ENOUGH = 0.99
DEFAULT_SECONDS = 120.0


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        sample = (scene.messages or {}).get(stream_key(row))
        if sample is None or sample.read == 0 or config.mirror or not _is_meant(scene, row, config):
            continue
        if sample.with_id < ENOUGH * sample.read:
            yield of_stream(
                row, f"{sample.with_id:,} of the last {sample.read:,} messages have an id"
            )


def _is_meant(scene: AuditContext, row: Stream, config: StreamConfig) -> bool:
    told = scene.publishes.streams.get(stream_key(row))
    heard = told.dedupe_hits if told is not None and told.dedupe_exact else None
    known = scene.history.duplicates(stream_key(row)) if scene.history is not None else None
    return bool(heard or known) or (config.duplicate_window_seconds or 0) > DEFAULT_SECONDS


CHECK = Check(
    code="ids-missing",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Messages without an id where duplicates are to be recognised",
    meaning=(
        "Some publishers send no Nats-Msg-Id although the stream is meant to recognise duplicates."
    ),
    condition=(
        "Of a sample of the last messages less than 99 % carry Nats-Msg-Id, and duplicates were "
        "recognised or the duplicate window is above the default of 120 s."
    ),
    why="A message without an id is stored again at each retry.",
    remedy=(
        "Let every publisher set an id that stays the same over its retries and differs between "
        "messages."
    ),
    commands=("nats stream get STREAM --last-for SUBJECT",),
    needs=frozenset({Need.MESSAGES}),
    find=find,
)
