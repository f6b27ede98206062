"""Logs changes between audits: one line per finding that is new, muted or resolved."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from exporter.audit.report import Report, ReportedFinding
from exporter.audit.severity import Severity
from streamgauge.serving.logs import StateLog, event

logger = logging.getLogger(__name__)

# Per audit: one edit can change the findings of a thousand consumers.
MAX_LINES = 20
# If more assets fail a check, only their number is compared.
MAX_COMPARED = 1_000


@dataclass(slots=True)
class AuditLog:
    system: str
    _before: Report | None = None
    _states: StateLog = field(default_factory=lambda: StateLog(logger))

    def update(self, report: Report | None) -> None:
        before, self._before = self._before, report
        if report is None or report is before:
            return
        self._log_errors(report)
        if before is None:
            self._first(report)
        else:
            self._changes(before, report)

    def _first(self, report: Report) -> None:
        """The first audit is one line; the status page lists its findings."""
        counts = {severity.value: number for severity, number in report.counts().items()}
        event(logger, logging.INFO, "first audit", system=self.system, checks=report.checks,
              not_evaluated=len(report.not_evaluated), **counts, muted=report.muted)  # fmt: skip

    def _changes(self, before: Report, now: Report) -> None:
        then, there = _by_check(before), _by_check(now)
        added: list[ReportedFinding] = []
        removed: list[ReportedFinding] = []
        for code in sorted({*then, *there}):
            old, new = then.get(code, []), there.get(code, [])
            if max(len(old), len(new)) > MAX_COMPARED:
                self._count(code, len(old), len(new))
                continue
            keys_then, keys_now = {one.key for one in old}, {one.key for one in new}
            added += [one for one in new if one.key not in keys_then]
            removed += [one for one in old if one.key not in keys_now]
        self._log_added(added)
        self._log_removed(removed[: max(0, MAX_LINES - len(added))], now)
        excess = len(added) + len(removed) - MAX_LINES
        if excess > 0:
            event(logger, logging.WARNING, "too many changed findings to log",
                  system=self.system, new=len(added), resolved=len(removed),
                  not_logged=excess)  # fmt: skip

    def _log_added(self, added: Sequence[ReportedFinding]) -> None:
        for one in added[:MAX_LINES]:
            level = logging.INFO if one.check.severity is Severity.INFO else logging.WARNING
            self._line(level, "new finding", one, evidence=one.finding.evidence)

    def _log_removed(self, removed: Sequence[ReportedFinding], now: Report) -> None:
        wanted = {one.key for one in removed}
        suppressed = (one for one in now.findings if wanted and one.muted is not None)
        muted = {one.key: one.muted for one in suppressed if one.key in wanted}
        for one in removed:
            if by := muted.get(one.key):
                self._line(logging.INFO, "finding muted", one, by=by.value)
            else:
                self._line(logging.INFO, "finding resolved", one)

    def _count(self, code: str, before: int, now: int) -> None:
        if before != now:
            event(logger, logging.INFO, "number of findings changed", system=self.system,
                  check=code, before=before, now=now)  # fmt: skip

    def _line(self, level: int, message: str, one: ReportedFinding, **fields: object) -> None:
        event(logger, level, message, system=self.system, check=one.check.code,
              severity=one.check.severity.value, account=one.finding.account,
              subject=one.subject, **fields)  # fmt: skip

    def _log_errors(self, report: Report) -> None:
        for broken in report.broken():
            self._states.report(("broken", broken.check.code), broken.reason, logging.ERROR,
                                "check failed", system=self.system, check=broken.check.code,
                                reason=broken.reason)  # fmt: skip
        for entry in report.unknown_ignores[:MAX_LINES]:
            self._states.report(("ignore", entry.subject, entry.code), True, logging.WARNING,
                                "ignored code matches no check", system=self.system,
                                code=entry.code, where=entry.subject)  # fmt: skip


def _by_check(report: Report) -> dict[str, list[ReportedFinding]]:
    found: dict[str, list[ReportedFinding]] = {}
    for one in report.active:
        found.setdefault(one.check.code, []).append(one)
    return found
