"""A report for programs. Fields may be added; those that are there keep their meaning. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from exporter.audit.check import SEVERITIES, Severity
from exporter.audit.output.printed_commands import printed_commands
from exporter.audit.output.system_audit import Audited
from exporter.audit.report import NotDone, Told, Unanswered

FORMAT = 1


def as_json(
    audits: Iterable[Audited], least: Severity, unanswered: Sequence[Unanswered] = ()
) -> str:
    systems = [_system(one, least) for one in audits] + [_silent(one) for one in unanswered]
    text = json.dumps({"format": FORMAT, "systems": systems}, indent=2, ensure_ascii=False)
    return "".join(f"{_visible(line)}\n" for line in text.split("\n"))


def _visible(line: str) -> str:
    """JSON leaves some control characters as they are, and a terminal obeys them."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def _system(audited: Audited, least: Severity) -> dict[str, object]:
    report = audited.report
    grave = [one for one in report.told if one.check.severity.rank <= least.rank]
    return {
        "system": report.system,
        "source": audited.source,
        "taken": datetime.fromtimestamp(report.taken, UTC).isoformat(timespec="seconds"),
        "streams": audited.streams,
        "consumers": audited.consumers,
        "checks": [check.code for check in audited.checks],
        "counts": {severity.value: number for severity, number in report.counts().items()},
        "muted": report.muted,
        "not_answered": list(audited.gaps),
        "findings": [_finding(one) for one in grave],
        "not_judged": [_not_done(one) for one in report.not_done],
        "mutes_of_no_check": [
            {"code": stray.code, "subject": stray.subject} for stray in report.strays
        ],
    }


def _silent(one: Unanswered) -> dict[str, object]:
    """The fields of any system; what is not known is null, and not nothing."""
    return {
        "system": one.system,
        "source": one.source,
        "taken": None,
        "streams": None,
        "consumers": None,
        "checks": [],
        "counts": {severity.value: None for severity in SEVERITIES},
        "muted": None,
        "not_answered": [one.reason],
        "findings": [],
        "not_judged": [],
        "mutes_of_no_check": [],
    }


def _finding(one: Told) -> dict[str, object]:
    check, found = one.check, one.finding
    return {
        "check": check.code,
        "severity": check.severity.value,
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


def _not_done(one: NotDone) -> dict[str, object]:
    return {
        "check": one.check.code,
        "reason": one.reason,
        "subjects": one.subjects,
        "broken": one.broken,
    }
