"""Checks with given findings, and their reports."""

from collections.abc import Callable, Iterator

from support.exporter.models import NOW, consumer, consumer_config, snapshot, stream, stream_config

from exporter.audit.check import Check, Finding, Need, Subject, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.evaluation import evaluate
from exporter.audit.report import Report
from exporter.audit.severity import Severity
from exporter.model import Consumer, OwnerNotes, Server, Stream

WORKER = Finding(evidence="3 of 5", account="APP", stream="ORDERS", consumer="worker")
ORDERS = Finding(evidence="1 of 2", account="APP", stream="ORDERS")


def check(
    code: str = "a-check",
    *found: Finding | Unknown,
    severity: Severity = Severity.WARN,
    needs: frozenset[Need] = frozenset(),
    since: str = "2.9",
    find: Callable[[AuditContext], Iterator[Finding | Unknown]] | None = None,
) -> Check:
    return Check(
        code=code,
        severity=severity,
        subject=Subject.CONSUMER,
        title="A title",
        meaning="A meaning.",
        condition="A condition.",
        why="A reason.",
        remedy="A remedy.",
        commands=(),
        needs=needs,
        since=since,
        find=find or (lambda _: iter(found)),
    )


def audit_context(*rows: Stream | Consumer | Server, **changes: object) -> AuditContext:
    return AuditContext(snapshot=snapshot(*rows), now=NOW, **changes)  # type: ignore[arg-type]


def evaluated(polled: AuditContext, *checks: Check, known: frozenset[str] = frozenset()) -> Report:
    return evaluate(polled, checks, known | {each.code for each in checks})


def notes(*ignored: str) -> OwnerNotes:
    return OwnerNotes(ignore=ignored)


def muted_stream(*ignored: str) -> Stream:
    return stream(config=stream_config(notes=notes(*ignored)))


def muted_consumer(*ignored: str) -> Consumer:
    return consumer("worker", config=consumer_config(notes=notes(*ignored)))
