"""Findings of the report: code, severity, subject, evidence and remedy.

A finding is made of the values of its rule: codes.toml has the texts of each code.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any

import numpy as np

from spark_rollups.report.facts.assets import Mask, Subject, known, subject_of
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.formatting import Kind, Level, Value, template, text_of, variables


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
    severity: str  # unless the rule says another
    summary: str  # template of one sentence with the numbers
    action: str  # a short instruction for the first page
    why: str
    remedy: str
    evidence: Sequence[tuple[str, str, str]] = ()  # name, value of the rule, kind
    commands: tuple[str, ...] = ()
    runbook: str = ""  # the alert with the matching runbook
    otherwise: str = ""  # what happens without the action; `why` if empty


def _definitions() -> dict[str, Definition]:
    text = files(__package__).joinpath("codes.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)
    for each in found.values():
        like = found.get(each.pop("like", ""), {})
        shared = {name: like[name] for name in ("severity", "summary", "evidence") if name in like}
        each |= {**shared, **each}
    return {code: Definition(code, **texts) for code, texts in found.items()}


BY_CODE = _definitions()


@dataclass(frozen=True, slots=True)
class Advice:
    what: str  # an instruction
    checked: tuple[str, ...] = ()  # which server and account hold it, and when they are full then
    commands: tuple[str, ...] = ()
    fits: bool = True  # False: the raise alone would overfill a server or an account


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
    summary: str
    evidence: tuple[Evidence, ...]
    by: date | None  # act until this day
    commands: tuple[str, ...]  # quoted for a shell
    weight: float = 0.0  # within a severity the largest weight comes first
    advice: Advice | None = None  # of a stream's limit
    owner: str = ""  # team or person; "" without one
    storage: str = ""  # of a server that fills: file or memory
    one_of: Subject | None = None  # of several assets, which have one owner

    @property
    def code(self) -> str:
        return self.definition.code

    @property
    def owned(self) -> Subject:
        """Whose owner is that of the finding."""
        return self.one_of or self.subject

    @property
    def level(self) -> Level:
        return LEVELS[self.severity]


def make_finding(
    code: str, subject: Subject, as_of: date, *, severity: str = "", by: date | None = None,
    weight: float = 0.0, advice: Advice | None = None, more: Sequence[Evidence] = (),
    storage: str = "", one_of: Subject | None = None, **values: Any,
) -> Finding:  # fmt: skip
    """Fills summary, evidence and commands; omits a command whose values are unknown."""
    definition = BY_CODE[code]
    grave = Severity(severity or definition.severity)
    if by is None and grave in _DAYS:
        by = as_of + timedelta(days=_DAYS[grave])
    named = {label: getattr(subject, label) for label in Subject.__slots__} | values
    advised = () if advice is None else advice.commands
    commands = tuple(dict.fromkeys((*advised, *_filled(definition.commands, named))))
    summary = template(definition.summary).render(name=subject.name, **named)
    evidence = (
        Evidence(name, values[value], Kind(kind)) for name, value, kind in definition.evidence
    )
    return Finding(
        definition, grave, subject, summary, (*evidence, *more), by, commands, weight, advice,
        storage=storage, one_of=one_of,
    )  # fmt: skip


def findings_of(
    code: str, facts: Facts, kind: str, mask: Mask, weight: Any, **own: Any
) -> Iterator[Finding]:
    """One for each asset of the mask. Its texts name columns of this kind of asset; `own` has others.

    A column is the name of one, an array, a list or a function of the index.
    """
    pair = facts.pair(kind)
    columns = {name: pair[name] for name in _variables(code) if name not in own}
    columns |= {**own, "weight": pair[weight] if isinstance(weight, str) else weight}
    for index in np.flatnonzero(mask).tolist():
        values = {name: _value(column, index) for name, column in columns.items()}
        yield make_finding(code, subject_of(pair.now, index), facts.as_of, **values)


@cache
def _variables(code: str) -> frozenset[str]:
    """Of the texts of a code, without the names of the asset."""
    texts = BY_CODE[code]
    found = frozenset(variables(texts.summary)) | {value for _, value, _ in texts.evidence}
    return found.union(*map(_fields, texts.commands)) - {"name", *Subject.__slots__}


def _value(column: Any, index: int) -> Any:
    if isinstance(column, np.ndarray):
        value = column[index].item()
        return known(value) if isinstance(value, float) else value
    if callable(column):
        return column(index)
    return column[index] if isinstance(column, list) else column


def _filled(commands: Sequence[str], values: Mapping[str, object]) -> Iterator[str]:
    for command in commands:
        own = {name: values.get(name) for name in _fields(command)}
        if all(value not in ("", None) for value in own.values()):
            yield command.format(**{name: shlex.quote(str(value)) for name, value in own.items()})


@cache
def _fields(command: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in Formatter().parse(command) if name)


def by_urgency(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By severity, then by date, then by weight, then by name."""

    def order(each: Finding) -> tuple[int, date, float, str, tuple[str, ...]]:
        grave = ORDER.index(each.severity)
        return (grave, each.by or date.max, -each.weight, each.code, each.subject.parts)

    return tuple(sorted(findings, key=order))
