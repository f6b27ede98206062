"""A report for programs. Fields may be added; those that are there keep their meaning. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime

from exporter.audit.audited import Audited
from exporter.audit.check import Severity
from exporter.audit.remedy import commands_for
from exporter.audit.report import NotDone, Told

FORMAT = 1


def as_json(audits: Iterable[Audited], least: Severity) -> str:
    told = {"format": FORMAT, "systems": [_system(one, least) for one in audits]}
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


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
        "commands": list(commands_for(check, found)),
        "muted_by": one.muted.value if one.muted else None,
    }


def _not_done(one: NotDone) -> dict[str, object]:
    return {"check": one.check.code, "reason": one.reason, "subjects": one.subjects}
