"""What the log says of an audit: one line when a finding comes or goes, none while it stays."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from exporter.audit.check import Severity
from exporter.audit.report import Report, Told
from streamgauge.serving.logs import StateLog, event

logger = logging.getLogger(__name__)

# An edit of a thousand consumers is one thing that happened, not a thousand lines.
MOST_LINES = 20
# Of a check that more assets fail only their number is compared.
MOST_COMPARED = 1_000


@dataclass(slots=True)
class AuditLog:
    system: str
    _before: Report | None = None
    _states: StateLog = field(default_factory=lambda: StateLog(logger))

    def tell(self, report: Report | None) -> None:
        before, self._before = self._before, report
        if report is None or report is before:
            return
        self._tell_mistakes(report)
        if before is None:
            self._first(report)
        else:
            self._changes(before, report)

    def _first(self, report: Report) -> None:
        """All that is there at the start is one line: the status page lists it."""
        counts = {severity.value: number for severity, number in report.counts().items()}
        event(logger, logging.INFO, "first audit", system=self.system, checks=report.checks,
              not_done=len(report.not_done), **counts, muted=report.muted)  # fmt: skip

    def _changes(self, before: Report, now: Report) -> None:
        then, there = _by_check(before), _by_check(now)
        came: list[Told] = []
        went: list[Told] = []
        for code in sorted({*then, *there}):
            old, new = then.get(code, []), there.get(code, [])
            if max(len(old), len(new)) > MOST_COMPARED:
                self._count(code, len(old), len(new))
                continue
            keys_then, keys_now = {one.key for one in old}, {one.key for one in new}
            came += [one for one in new if one.key not in keys_then]
            went += [one for one in old if one.key not in keys_now]
        self._tell_came(came)
        self._tell_went(went[: max(0, MOST_LINES - len(came))], now)
        left = len(came) + len(went) - MOST_LINES
        if left > 0:
            event(logger, logging.WARNING, "more findings came or went than are logged",
                  system=self.system, came=len(came), gone=len(went), not_logged=left)  # fmt: skip

    def _tell_came(self, came: Sequence[Told]) -> None:
        for one in came[:MOST_LINES]:
            level = logging.INFO if one.check.severity is Severity.INFO else logging.WARNING
            self._line(level, "finding", one, evidence=one.finding.evidence)

    def _tell_went(self, went: Sequence[Told], now: Report) -> None:
        wanted = {one.key for one in went}
        silenced = (one for one in now.told if wanted and one.muted is not None)
        muted = {one.key: one.muted for one in silenced if one.key in wanted}
        for one in went:
            if by := muted.get(one.key):
                self._line(logging.INFO, "finding is muted", one, by=by.value)
            else:
                self._line(logging.INFO, "finding is gone", one)

    def _count(self, code: str, before: int, now: int) -> None:
        if before != now:
            event(logger, logging.INFO, "findings of a check", system=self.system, check=code,
                  before=before, now=now)  # fmt: skip

    def _line(self, level: int, message: str, one: Told, **fields: object) -> None:
        event(logger, level, message, system=self.system, check=one.check.code,
              severity=one.check.severity.value, account=one.finding.account,
              subject=one.subject, **fields)  # fmt: skip

    def _tell_mistakes(self, report: Report) -> None:
        for broken in report.broken():
            self._states.report(("broken", broken.check.code), broken.reason, logging.ERROR,
                                "check failed", system=self.system, check=broken.check.code,
                                reason=broken.reason)  # fmt: skip
        for stray in report.strays[:MOST_LINES]:
            self._states.report(("stray", stray.subject, stray.code), True, logging.WARNING,
                                "a mute names no check", system=self.system, code=stray.code,
                                where=stray.subject)  # fmt: skip


def _by_check(report: Report) -> dict[str, list[Told]]:
    found: dict[str, list[Told]] = {}
    for one in report.active:
        found.setdefault(one.check.code, []).append(one)
    return found
