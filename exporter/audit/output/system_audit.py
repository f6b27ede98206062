"""The audit of one system for the output formats. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from exporter.audit.check import Check
from exporter.audit.report import NotEvaluated, Report, ReportedFinding
from exporter.audit.severity import Severity


@dataclass(frozen=True)
class AuditedSystem:
    report: Report
    checks: tuple[Check, ...]  # that were selected
    source: str
    streams: int
    consumers: int
    gaps: tuple[str, ...] = ()  # data that could not be fetched and was not evaluated
    details: bool = False  # show findings of the server's defaults like all others

    @cached_property
    def many_accounts(self) -> bool:
        return len({one.finding.account for one in self.report.findings} - {""}) > 1

    def named(self, one: ReportedFinding) -> str:
        """With the account, if there are several."""
        with_account = one.finding.stream and self.many_accounts
        return f"{one.finding.account}: {one.subject}" if with_account else one.subject

    def shown(self, min_severity: Severity) -> dict[Check, list[ReportedFinding]]:
        """Findings by check, without muted and less severe ones and defaults; the worst first."""
        found: dict[Check, list[ReportedFinding]] = {}
        for one in self.report.active:
            if one.severity.rank <= min_severity.rank and (self.details or not one.is_default):
                found.setdefault(one.check, []).append(one)
        return found

    def defaults(self, min_severity: Severity) -> str:
        """What the servers' own defaults give, in one line; "" if there is none."""
        if min_severity is not Severity.INFO or self.details:
            return ""
        found = Counter(one.check.code for one in self.report.active if one.is_default)
        return ", ".join(f"{code} ({number:,})" for code, number in sorted(found.items()))

    def muted(self) -> list[ReportedFinding]:
        return [one for one in self.report.findings if one.muted is not None]

    def not_evaluated_by_reason(self) -> dict[str, list[NotEvaluated]]:
        """Checks that were not evaluated, by reason."""
        found: dict[str, list[NotEvaluated]] = {}
        for one in self.report.not_evaluated:
            found.setdefault(one.reason, []).append(one)
        return found


def fails(audited: Iterable[AuditedSystem], fail_on: Severity | None) -> bool:
    """Whether a finding that is not muted is at least this severe; None: never."""
    return fail_on is not None and any(
        one.severity.rank <= fail_on.rank for each in audited for one in each.report.active
    )
