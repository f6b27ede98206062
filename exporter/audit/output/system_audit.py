"""The audit of one system as it is printed: the report, and what it was made from. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from exporter.audit.check import Check, Severity
from exporter.audit.report import NotDone, Report, Told


@dataclass(frozen=True)
class Audited:
    report: Report
    checks: tuple[Check, ...]  # that were asked for
    source: str
    streams: int
    consumers: int
    gaps: tuple[str, ...] = ()  # what was not answered: of that nothing could be judged

    @cached_property
    def many_accounts(self) -> bool:
        return len({one.finding.account for one in self.report.told} - {""}) > 1

    def named(self, one: Told) -> str:
        """With its account where there are several."""
        told = one.finding.stream and self.many_accounts
        return f"{one.finding.account}: {one.subject}" if told else one.subject

    def shown(self, least: Severity) -> dict[Check, list[Told]]:
        """What is not muted and grave enough, by check; the worst first."""
        found: dict[Check, list[Told]] = {}
        for one in self.report.active:
            if one.check.severity.rank <= least.rank:
                found.setdefault(one.check, []).append(one)
        return found

    def muted(self) -> list[Told]:
        return [one for one in self.report.told if one.muted is not None]

    def lacks(self) -> dict[str, list[NotDone]]:
        """What could not be done, by reason."""
        found: dict[str, list[NotDone]] = {}
        for one in self.report.not_done:
            found.setdefault(one.reason, []).append(one)
        return found


def fails(audited: Iterable[Audited], fail_on: Severity | None) -> bool:
    """Whether anything not muted is at least so grave; None: never."""
    return fail_on is not None and any(
        one.check.severity.rank <= fail_on.rank for each in audited for one in each.report.active
    )
