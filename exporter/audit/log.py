"""Logs changes between audits: at most one line a minute."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.audit.report import Report, ReportedFinding
from exporter.audit.severity import Severity
from exporter.audit.units import listed
from streamgauge.serving.logs import StateLog, event

logger = logging.getLogger(__name__)

MIN_SECONDS = 60.0
MAX_NAMES = 3
# Ignored codes that match no check.
MAX_LINES = 20

Key = tuple[str, str, str, str, str]


@dataclass(slots=True)
class AuditLog:
    system: str
    _logged: dict[Key, ReportedFinding] | None = None  # as of the last line
    _at: float = 0.0
    _seen: Report | None = None
    _states: StateLog = field(default_factory=lambda: StateLog(logger))

    def update(self, report: Report | None) -> None:
        if report is None or report is self._seen:
            return
        self._seen = report
        self._log_errors(report)
        if self._logged is None:
            self._first(report)
        elif report.taken - self._at >= MIN_SECONDS:
            self._changes(self._logged, report)

    def _first(self, report: Report) -> None:
        """The status page lists the findings."""
        self._logged, self._at = _harmful(report.active), report.taken
        counts = {severity.value: number for severity, number in report.counts().items()}
        event(logger, logging.INFO, "first audit", system=self.system, checks=report.checks,
              not_evaluated=len(report.not_evaluated), **counts, muted=report.muted)  # fmt: skip

    def _changes(self, before: dict[Key, ReportedFinding], report: Report) -> None:
        """Of warn and crit alone: what is info comes and goes without harm."""
        now = _harmful(report.active)
        added = [one for key, one in now.items() if key not in before]
        gone = [one for key, one in before.items() if key not in now]
        if not added and not gone:
            return
        self._logged, self._at = now, report.taken
        muted = _harmful(one for one in report.findings if one.muted is not None)
        resolved = [one for one in gone if one.key not in muted]
        level = logging.WARNING if added else logging.INFO
        event(logger, level, "findings changed", system=self.system, new=len(added),
              resolved=len(resolved), muted=len(gone) - len(resolved),
              now=len(now), names=_names(added or gone))  # fmt: skip

    def _log_errors(self, report: Report) -> None:
        for broken in report.broken():
            self._states.report(("broken", broken.check.code), broken.reason, logging.ERROR,
                                "check failed", system=self.system, check=broken.check.code,
                                reason=broken.reason)  # fmt: skip
        for entry in report.unknown_ignores[:MAX_LINES]:
            self._states.report(("ignore", entry.subject, entry.code), True, logging.WARNING,
                                "ignored code matches no check", system=self.system,
                                code=entry.code, where=entry.subject)  # fmt: skip


def _harmful(findings: Iterable[ReportedFinding]) -> dict[Key, ReportedFinding]:
    return {one.key: one for one in findings if one.severity is not Severity.INFO}


def _names(findings: list[ReportedFinding]) -> str:
    return listed([f"{one.check.code} {one.subject}" for one in findings], MAX_NAMES)
