"""Findings of the report: code, severity, subject, evidence and remedy."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from string import Formatter

from spark_rollups.report.cell_values import (
    Kind,
    Level,
    Value,
    text_of,
)
from spark_rollups.report.facts.assets import Subject
from spark_rollups.report.findings.advice import Advice


class Severity(StrEnum):
    """In descending order; the values are in CSV and JSON."""

    CRITICAL = "critical"  # data is lost or will be soon
    WARNING = "warning"  # needs action within a month
    NOTE = "note"  # worth knowing


ORDER = tuple(Severity)
LEVELS = {
    Severity.CRITICAL: Level.CRITICAL,
    Severity.WARNING: Level.WARNING,
    Severity.NOTE: Level.NORMAL,
}
# Days to act, counted from the newest day of the report.
_DAYS = {Severity.CRITICAL: 7, Severity.WARNING: 30}


@dataclass(frozen=True, slots=True)
class Definition:
    """What all findings of a code share. Commands have placeholders in braces."""

    code: str  # like CAP-STREAM-FULL-SOON
    title: str
    action: str  # a short instruction for the first page
    why: str
    remedy: str
    commands: tuple[str, ...] = ()
    runbook: str = ""  # the alert with the matching runbook
    otherwise: str = ""  # what happens without the action; `why` if empty


@dataclass(frozen=True, slots=True)
class Evidence:
    """One value that supports a finding."""

    name: str
    value: Value
    kind: Kind = Kind.TEXT

    @property
    def text(self) -> str:
        return text_of(self.kind, self.value)


@dataclass(frozen=True, slots=True)
class Finding:
    definition: Definition
    severity: Severity
    subject: Subject
    summary: str  # one sentence with the numbers
    evidence: tuple[Evidence, ...]
    by: date | None  # act until this day
    commands: tuple[str, ...]  # quoted for a shell
    weight: float = 0.0  # within a severity the largest weight comes first
    advice: Advice | None = None  # of a stream's limit
    owner: str = ""  # team or person; "" without one

    @property
    def code(self) -> str:
        return self.definition.code


def make_finding(
    definition: Definition,
    severity: Severity,
    subject: Subject,
    summary: str,
    evidence: Sequence[Evidence],
    as_of: date,
    *,
    by: date | None = None,
    weight: float = 0.0,
    values: Mapping[str, object] | None = None,
    advice: Advice | None = None,
) -> Finding:
    """Fills in the commands; omits a command whose values are unknown."""
    if by is None and severity in _DAYS:
        by = as_of + timedelta(days=_DAYS[severity])
    commands = _filled(definition.commands, subject, values or {})
    if advice is not None:
        commands = (*advice.commands, *(each for each in commands if each not in advice.commands))
    return Finding(
        definition, severity, subject, summary, tuple(evidence), by, commands, weight, advice
    )


def _filled(
    commands: Sequence[str], subject: Subject, values: Mapping[str, object]
) -> tuple[str, ...]:
    known = {name: getattr(subject, name) for name in Subject.__slots__}
    known = {name: value for name, value in {**known, **values}.items() if value not in ("", None)}
    quoted = {name: shlex.quote(str(value)) for name, value in known.items()}
    return tuple(each.format(**quoted) for each in commands if _fields(each) <= set(quoted))


def _fields(command: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(command) if name}


def by_urgency(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By severity, then by date, then by weight, then by name."""

    def order(finding: Finding) -> tuple[int, date, float, str, tuple[str, ...]]:
        return (
            ORDER.index(finding.severity),
            finding.by or date.max,
            -finding.weight,
            finding.code,
            finding.subject.parts,
        )

    return tuple(sorted(findings, key=order))
