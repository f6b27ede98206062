"""The result of an audit: findings, checks that were not evaluated, unknown codes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from msgspec import Struct

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.severity import SEVERITIES, Severity
from exporter.subscription_counts import ConsumerKey, StreamKey

Labels = tuple[str, Severity]  # code of a check, and severity of a finding


class MutedBy(StrEnum):
    STREAM = "stream metadata"
    CONSUMER = "consumer metadata"
    SETTINGS = "configuration"


class ReportedFinding(Struct, frozen=True, gc=False):
    """One finding of one check, muted or not."""

    check: Check
    finding: Finding
    muted: MutedBy | None = None

    @property
    def subject(self) -> str:
        return subject_name(self.finding)

    @property
    def severity(self) -> Severity:
        return self.finding.severity or self.check.severity

    @property
    def is_default(self) -> bool:
        """Only what the server's own defaults give."""
        return self.check.default and self.severity is Severity.INFO

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """Identifies the same finding in two audits; the evidence may differ."""
        found = self.finding
        return self.check.code, found.account, found.stream, found.consumer, found.server


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """A check that was not evaluated, or not for some assets."""

    check: Check
    reason: str
    subjects: int = 0  # number of assets; 0: the whole check
    broken: bool = False  # the check raised an exception


@dataclass(frozen=True, slots=True)
class UnknownIgnore:
    """An ignored code, in metadata or settings, that matches no check."""

    code: str
    subject: str


@dataclass(frozen=True, slots=True)
class FailedSystem:
    """A system that could not be audited: no request succeeded."""

    system: str
    source: str
    reason: str


@dataclass(frozen=True)
class Report:
    system: str
    taken: float  # exporter clock
    findings: tuple[ReportedFinding, ...] = ()  # sorted, including muted ones
    not_evaluated: tuple[NotEvaluated, ...] = ()
    unknown_ignores: tuple[UnknownIgnore, ...] = ()
    checks: int = 0  # number of selected checks
    seconds: float = field(default=0.0, compare=False)  # duration of the evaluation

    @cached_property
    def active(self) -> tuple[ReportedFinding, ...]:
        return tuple(one for one in self.findings if one.muted is None)

    @property
    def muted(self) -> int:
        return len(self.findings) - len(self.active)

    def counts(self) -> Mapping[Severity, int]:
        """Findings that are not muted by severity, the worst first, including zeros."""
        found = Counter(one.severity for one in self.active)
        return {severity: found[severity] for severity in SEVERITIES}

    def broken(self) -> tuple[NotEvaluated, ...]:
        return tuple(one for one in self.not_evaluated if one.broken)

    @cached_property
    def by_stream(self) -> Mapping[StreamKey, Mapping[Labels, int]]:
        """By stream: how many assets, the stream and its consumers, violate each check."""
        found: dict[StreamKey, Counter[Labels]] = {}
        before: tuple[str, ...] = ()
        for one in self.active:
            code, account, stream, consumer, _ = one.key
            # Findings are sorted, so two findings of one asset and check are adjacent.
            if stream and (code, account, stream, consumer) != before:
                found.setdefault((account, stream), Counter())[self._labels(one)] += 1
            before = (code, account, stream, consumer)
        return found

    @cached_property
    def by_consumer(self) -> Mapping[ConsumerKey, tuple[Labels, ...]]:
        found: dict[ConsumerKey, tuple[Labels, ...]] = {}
        for one in self.active:
            if one.finding.consumer:
                key = (one.finding.account, one.finding.stream, one.finding.consumer)
                before, labels = found.get(key, ()), self._labels(one)
                if labels not in before:
                    found[key] = (*before, labels)
        return found

    @cached_property
    def by_server(self) -> Mapping[str, tuple[Labels, ...]]:
        return self._of(Subject.SERVER, lambda found: found.server)

    @cached_property
    def by_account(self) -> Mapping[str, tuple[Labels, ...]]:
        return self._of(Subject.ACCOUNT, lambda found: found.account)

    @cached_property
    def of_system(self) -> tuple[Labels, ...]:
        """Of the meta group and of the system as a whole."""
        return self._of(None, lambda _: "").get("", ())

    def _of(
        self, subject: Subject | None, name: Callable[[Finding], str]
    ) -> Mapping[str, tuple[Labels, ...]]:
        found: dict[str, set[Labels]] = {}
        for one in self.active:
            of = _subject(one.finding)
            if of is subject:
                found.setdefault(name(one.finding), set()).add(self._labels(one))
        return {key: tuple(sorted(labels)) for key, labels in found.items()}

    def _labels(self, one: ReportedFinding) -> Labels:
        """Shared, because a large system has hundreds of thousands of findings."""
        return self._shared.setdefault(
            (one.check.code, one.severity), (one.check.code, one.severity)
        )

    @cached_property
    def _shared(self) -> dict[Labels, Labels]:
        return {}


def _subject(found: Finding) -> Subject | None:
    """What a finding names; None: the system."""
    if found.consumer or found.stream:
        return Subject.CONSUMER if found.consumer else Subject.STREAM
    if found.server:
        return Subject.SERVER
    return Subject.ACCOUNT if found.account else None


def subject_name(finding: Finding) -> str:
    """For people: ORDERS, ORDERS > worker, server n1, account APP."""
    if finding.stream:
        return " > ".join(filter(None, (finding.stream, finding.consumer)))
    if finding.server:
        return f"server {finding.server}"
    return f"account {finding.account}" if finding.account else "the system"


def in_order(findings: Iterable[ReportedFinding]) -> tuple[ReportedFinding, ...]:
    """The worst first, then by check, then by name."""
    by_check: dict[str, list[ReportedFinding]] = {}
    for one in findings:
        by_check.setdefault(one.check.code, []).append(one)
    groups = sorted(by_check.items(), key=lambda found: (_worst(found[1]), found[0]))
    return tuple(one for _, group in groups for one in sorted(group, key=_place))


def _worst(findings: Iterable[ReportedFinding]) -> int:
    return min(one.severity.rank for one in findings)


def _place(one: ReportedFinding) -> tuple[int, str, str, str, str]:
    found = one.finding
    return one.severity.rank, found.account, found.stream, found.consumer, found.server


SUBJECT_ORDER = (
    Subject.CONSUMER,
    Subject.STREAM,
    Subject.ACCOUNT,
    Subject.SERVER,
    Subject.META,
)
