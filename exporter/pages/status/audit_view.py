"""The view of the last audit for the status page."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from exporter.audit.check import Check
from exporter.audit.output.printed_commands import printed_commands
from exporter.audit.report import Report, ReportedFinding
from exporter.pages.status.level import Level
from exporter.pages.status.wording import count

# Many consumers that fail one check are one problem to fix.
MAX_PER_CHECK = 20


@dataclass(frozen=True, slots=True)
class FoundView:
    where: str
    evidence: str
    muted_by: str = ""


@dataclass(frozen=True, slots=True)
class CheckView:
    """The findings of one check."""

    code: str
    severity: str
    title: str
    why: str
    remedy: str
    commands: tuple[str, ...]  # for the first finding
    found: tuple[FoundView, ...]
    more: int = 0  # findings that are not listed
    active: int = 0  # findings that are not muted

    @property
    def level(self) -> Level:
        if not self.active or self.severity == "info":
            return Level.OK
        return Level.CRITICAL if self.severity == "crit" else Level.WARNING


@dataclass(frozen=True, slots=True)
class AuditView:
    headline: str
    checks: tuple[CheckView, ...]  # the worst first
    not_evaluated: tuple[tuple[str, tuple[str, ...]], ...] = ()  # by reason: codes
    unknown_ignores: tuple[str, ...] = ()  # ignored codes that match no check

    @property
    def critical(self) -> tuple[CheckView, ...]:
        return tuple(check for check in self.checks if check.level is Level.CRITICAL)


def audit_view(report: Report) -> AuditView:
    grouped = groupby(report.findings, key=lambda one: one.check)
    many = len({one.finding.account for one in report.findings} - {""}) > 1
    reasons: dict[str, list[str]] = {}
    for one in report.not_evaluated:
        reasons.setdefault(one.reason, []).append(one.check.code)
    return AuditView(
        headline=_headline(report),
        checks=tuple(_check(check, list(findings), many) for check, findings in grouped),
        not_evaluated=tuple((reason, tuple(codes)) for reason, codes in reasons.items()),
        unknown_ignores=tuple(
            f"{ignore.code} ({ignore.subject})" for ignore in report.unknown_ignores
        ),
    )


def _headline(report: Report) -> str:
    counts = ", ".join(f"{number:,} {severity}" for severity, number in report.counts().items())
    unknown = len({one.check.code for one in report.not_evaluated})
    return f"{counts}, {report.muted:,} muted; {count(report.checks, 'check')}, {unknown} not evaluated"


def _check(check: Check, findings: list[ReportedFinding], many_accounts: bool) -> CheckView:
    # Muted findings come last: they must not displace active ones.
    ordered = sorted(findings, key=lambda one: one.muted is not None)
    shown = ordered[:MAX_PER_CHECK]
    return CheckView(
        code=check.code,
        severity=min((one.severity for one in findings), key=lambda one: one.rank).value,
        title=check.title,
        why=check.why,
        remedy=check.remedy,
        commands=printed_commands(check, ordered[0].finding),
        found=tuple(_found(one, many_accounts) for one in shown),
        more=len(findings) - len(shown),
        active=sum(one.muted is None for one in findings),
    )


def _found(one: ReportedFinding, many_accounts: bool) -> FoundView:
    account = one.finding.account
    where = f"{account}: {one.subject}" if many_accounts and one.finding.stream else one.subject
    return FoundView(where, one.finding.evidence, one.muted.value if one.muted else "")
