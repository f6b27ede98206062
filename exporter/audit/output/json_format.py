"""The report as JSON. New fields may be added; existing ones keep their meaning. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from exporter.audit.output.printed_commands import printed_commands
from exporter.audit.output.system_audit import AuditedSystem
from exporter.audit.report import FailedSystem, NotEvaluated, ReportedFinding
from exporter.audit.severity import SEVERITIES, Severity

FORMAT = 1


def as_json(
    audits: Iterable[AuditedSystem], min_severity: Severity, failed: Sequence[FailedSystem] = ()
) -> str:
    systems = [_system(one, min_severity) for one in audits] + [
        _failed_system(one) for one in failed
    ]
    text = json.dumps({"format": FORMAT, "systems": systems}, indent=2, ensure_ascii=False)
    return "".join(f"{_visible(line)}\n" for line in text.split("\n"))


def _visible(line: str) -> str:
    """Escapes the control characters that JSON allows and a terminal would interpret."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def _system(audited: AuditedSystem, min_severity: Severity) -> dict[str, object]:
    report = audited.report
    shown = [one for one in report.findings if one.severity.rank <= min_severity.rank]
    return {
        "system": report.system,
        "source": audited.source,
        "taken": datetime.fromtimestamp(report.taken, UTC).isoformat(timespec="seconds"),
        "streams": audited.streams,
        "consumers": audited.consumers,
        "checks": [check.code for check in audited.checks],
        "counts": {severity.value: number for severity, number in report.counts().items()},
        "muted": report.muted,
        "incomplete": list(audited.gaps),
        "findings": [_finding(one) for one in shown],
        "not_evaluated": [_not_evaluated(one) for one in report.not_evaluated],
        "unknown_ignores": [
            {"code": entry.code, "subject": entry.subject} for entry in report.unknown_ignores
        ],
    }


def _failed_system(one: FailedSystem) -> dict[str, object]:
    """The same fields as an audited system; unknown numbers are null."""
    return {
        "system": one.system,
        "source": one.source,
        "taken": None,
        "streams": None,
        "consumers": None,
        "checks": [],
        "counts": {severity.value: None for severity in SEVERITIES},
        "muted": None,
        "incomplete": [one.reason],
        "findings": [],
        "not_evaluated": [],
        "unknown_ignores": [],
    }


def _finding(one: ReportedFinding) -> dict[str, object]:
    check, found = one.check, one.finding
    return {
        "check": check.code,
        "severity": one.severity.value,
        "default": one.is_default,
        "subject": check.subject.value,
        "account": found.account,
        "stream": found.stream,
        "consumer": found.consumer,
        "server": found.server,
        "title": check.title,
        "evidence": found.evidence,
        "remedy": check.remedy,
        "commands": list(printed_commands(check, found)),
        "muted_by": one.muted.value if one.muted else None,
    }


def _not_evaluated(one: NotEvaluated) -> dict[str, object]:
    return {
        "check": one.check.code,
        "reason": one.reason,
        "subjects": one.subjects,
        "broken": one.broken,
    }
