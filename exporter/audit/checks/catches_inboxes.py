"""A stream that stores the answers to requests."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import listed
from exporter.signals.coverage import covers

# As client libraries name the places where they wait for answers.
INBOXES = ("_INBOX.uniquename", "_INBOX.uniquename.number")


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        wide = [subject for subject in config.subjects if _takes_replies(subject)]
        if wide:
            yield of_stream(row, f"takes {listed(wide)}, and so replies to _INBOX")


def _takes_replies(subject: str) -> bool:
    return subject.startswith("_INBOX.") or any(covers(subject, inbox) for inbox in INBOXES)


CHECK = Check(
    code="catches-inboxes",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A stream stores replies",
    meaning="The subjects of the stream include those on which clients wait for answers.",
    condition=(
        "A subject of the stream begins with _INBOX, or is so wide that it matches the reply "
        "subjects of client libraries, _INBOX with one or two words after it."
    ),
    why=(
        "Every answer of the account is stored, also those of JetStream itself: the stream "
        "grows with each request, and holds what was meant for one client."
    ),
    remedy=(
        "Name the subjects that are meant instead of a wildcard that takes everything. --subjects "
        "replaces the whole list: name every subject that is to stay."
    ),
    commands=("nats stream edit STREAM --subjects SUBJECT,OTHER_SUBJECT",),
    find=find,
)
