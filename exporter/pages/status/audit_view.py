"""The last audit -> what the status page says of it. Pure."""

from __future__ import annotations

from itertools import groupby

from exporter.audit.check import Check
from exporter.audit.output.printed_commands import printed_commands
from exporter.audit.report import Report, ReportedFinding
from exporter.pages.status.view import AuditView, CheckView, FoundView, count

# A thousand consumers that fail one check are one thing to mend.
MOST_PER_CHECK = 20


def audit_view(report: Report) -> AuditView:
    grouped = groupby(report.findings, key=lambda one: one.check)
    many = len({one.finding.account for one in report.findings} - {""}) > 1
    lacks: dict[str, list[str]] = {}
    for one in report.not_evaluated:
        lacks.setdefault(one.reason, []).append(one.check.code)
    return AuditView(
        headline=_headline(report),
        checks=tuple(_check(check, list(told), many) for check, told in grouped),
        not_judged=tuple((reason, tuple(codes)) for reason, codes in lacks.items()),
        strays=tuple(f"{stray.code} ({stray.subject})" for stray in report.unknown_ignores),
    )


def _headline(report: Report) -> str:
    counts = ", ".join(f"{number:,} {severity}" for severity, number in report.counts().items())
    unknown = len({one.check.code for one in report.not_evaluated})
    return f"{counts}, {report.muted:,} muted; {count(report.checks, 'check')}, {unknown} not evaluated"


def _check(check: Check, told: list[ReportedFinding], many_accounts: bool) -> CheckView:
    # What is muted comes last: it must not take the place of what is not.
    ordered = sorted(told, key=lambda one: one.muted is not None)
    shown = ordered[:MOST_PER_CHECK]
    return CheckView(
        code=check.code,
        severity=check.severity.value,
        title=check.title,
        why=check.why,
        remedy=check.remedy,
        commands=printed_commands(check, ordered[0].finding),
        found=tuple(_found(one, many_accounts) for one in shown),
        more=len(told) - len(shown),
        active=sum(one.muted is None for one in told),
    )


def _found(one: ReportedFinding, many_accounts: bool) -> FoundView:
    account = one.finding.account
    where = f"{account}: {one.subject}" if many_accounts and one.finding.stream else one.subject
    return FoundView(where, one.finding.evidence, one.muted.value if one.muted else "")
