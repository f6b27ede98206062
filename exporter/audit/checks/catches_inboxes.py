"""The stream stores replies to requests."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import listed
from exporter.signals.loss.coverage import covers

# Reply subjects as client libraries name them.
INBOXES = ("_INBOX.uniquename", "_INBOX.uniquename.number")


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        wide = [subject for subject in config.subjects if _matches_inboxes(subject)]
        if wide:
            yield stream_finding(row, f"subject {listed(wide)} matches replies to _INBOX")


def _matches_inboxes(subject: str) -> bool:
    return subject.startswith("_INBOX.") or any(covers(subject, inbox) for inbox in INBOXES)


CHECK = Check(
    code="catches-inboxes",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="The stream stores replies to requests",
    meaning="The subjects of the stream match the reply subjects of clients.",
    condition=(
        "A subject of the stream begins with _INBOX, or matches _INBOX followed by one or two "
        "tokens, as client libraries use it."
    ),
    why=(
        "All replies of the account are stored, including those of JetStream. The stream grows "
        "with each request and holds private data of clients."
    ),
    remedy=(
        "Replace the wildcard by the subjects that you need. --subjects replaces the whole list, "
        "so name every subject to keep."
    ),
    commands=("nats stream edit STREAM --subjects SUBJECT,OTHER_SUBJECT",),
    find=find,
)
