"""What a finding of the report is: a permanent code, a subject, evidence, and what to do. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
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
from spark_rollups.report.facts.subject import Subject


class Severity(StrEnum):
    """From the gravest on; the word stands in files: never rename."""

    CRITICAL = "critical"  # harm is done, or is certain soon
    WARNING = "warning"  # harm is likely unless somebody acts
    NOTE = "note"  # worth knowing


ORDER = tuple(Severity)
LEVELS = {
    Severity.CRITICAL: Level.CRITICAL,
    Severity.WARNING: Level.WARNING,
    Severity.NOTE: Level.NORMAL,
}
# Until when something should be done, counted from the newest day of the report.
_DAYS = {Severity.CRITICAL: 7, Severity.WARNING: 30}


@dataclass(frozen=True, slots=True)
class Definition:
    """What every finding of one code shares. Commands name their values in braces."""

    code: str  # CAP-STREAM-FULL-SOON: permanent
    title: str
    action: str  # what to do, in a few words, for the first page
    why: str
    remedy: str
    commands: tuple[str, ...] = ()
    runbook: str = ""  # the alert whose runbook goes deeper


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number, or the words that stand for one."""

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
    summary: str  # one whole sentence with its numbers
    evidence: tuple[Evidence, ...]
    by: date | None  # until when to act
    commands: tuple[str, ...]  # ready for a shell
    weight: float = 0.0  # among findings of one severity the heavier come first

    @property
    def code(self) -> str:
        return self.definition.code


def found(
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
) -> Finding:
    """A finding with its commands filled in; a command whose values are not known is left out."""
    if by is None and severity in _DAYS:
        by = as_of + timedelta(days=_DAYS[severity])
    return Finding(
        definition, severity, subject, summary, tuple(evidence), by,
        _filled(definition.commands, subject, values or {}), weight,
    )  # fmt: skip


def _filled(
    commands: Sequence[str], subject: Subject, values: Mapping[str, object]
) -> tuple[str, ...]:
    known = {name: getattr(subject, name) for name in Subject.__slots__}
    known = {name: value for name, value in {**known, **values}.items() if value not in ("", None)}
    quoted = {name: shlex.quote(str(value)) for name, value in known.items()}
    return tuple(each.format(**quoted) for each in commands if _fields(each) <= set(quoted))


def _fields(command: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(command) if name}


def by_urgency(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The gravest first, then the soonest, then the heaviest; equal ones by name."""

    def order(finding: Finding) -> tuple[int, date, float, str, tuple[str, ...]]:
        return (
            ORDER.index(finding.severity),
            finding.by or date.max,
            -finding.weight,
            finding.code,
            finding.subject.parts,
        )

    return tuple(sorted(findings, key=order))
