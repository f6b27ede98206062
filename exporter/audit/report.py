"""What an audit found: findings with who muted them, and what could not be judged. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from msgspec import Struct

from exporter.audit.check import SEVERITIES, Check, Finding, Severity, Subject
from exporter.subscription_counts import ConsumerKey, StreamKey


class MutedBy(StrEnum):
    STREAM = "stream metadata"
    CONSUMER = "consumer metadata"
    SETTINGS = "configuration"


class Told(Struct, frozen=True, gc=False):
    """One finding of one check; a muted one is told all the same."""

    check: Check
    finding: Finding
    muted: MutedBy | None = None

    @property
    def subject(self) -> str:
        return subject_name(self.finding)

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """The same finding at two looks has the same key, whatever its numbers."""
        found = self.finding
        return self.check.code, found.account, found.stream, found.consumer, found.server


@dataclass(frozen=True, slots=True)
class NotDone:
    """A check that could not be done at all, or not for some subjects."""

    check: Check
    reason: str
    subjects: int = 0  # 0: for none of them
    broken: bool = False  # by a mistake of ours


@dataclass(frozen=True, slots=True)
class StrayMute:
    """Metadata or configuration that mutes a code which no check has."""

    code: str
    subject: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A system that answered nothing at all: nothing of it was judged."""

    system: str
    source: str
    reason: str


@dataclass(frozen=True)
class Report:
    system: str
    taken: float  # exporter clock
    told: tuple[Told, ...] = ()  # sorted, muted ones included
    not_done: tuple[NotDone, ...] = ()
    strays: tuple[StrayMute, ...] = ()
    checks: int = 0  # how many were asked for
    seconds: float = field(default=0.0, compare=False)  # that judging took

    @cached_property
    def active(self) -> tuple[Told, ...]:
        return tuple(one for one in self.told if one.muted is None)

    @property
    def muted(self) -> int:
        return len(self.told) - len(self.active)

    def counts(self) -> Mapping[Severity, int]:
        """Of what is not muted; the worst severity first, and every one of them named."""
        found = Counter(one.check.severity for one in self.active)
        return {severity: found[severity] for severity in SEVERITIES}

    def broken(self) -> tuple[NotDone, ...]:
        return tuple(one for one in self.not_done if one.broken)

    @cached_property
    def by_stream(self) -> Mapping[StreamKey, Mapping[tuple[str, Severity], int]]:
        """How many assets of each stream, itself and its consumers, fail each check."""
        found: dict[StreamKey, Counter[tuple[str, Severity]]] = {}
        before: tuple[str, ...] = ()
        for one in self.active:
            code, account, stream, consumer, _ = one.key
            # They are in order, so an asset that fails a check twice comes twice in a row.
            if stream and (code, account, stream, consumer) != before:
                found.setdefault((account, stream), Counter())[self._labels[code]] += 1
            before = (code, account, stream, consumer)
        return found

    @cached_property
    def by_consumer(self) -> Mapping[ConsumerKey, tuple[tuple[str, Severity], ...]]:
        found: dict[ConsumerKey, tuple[tuple[str, Severity], ...]] = {}
        for one in self.active:
            if one.finding.consumer:
                key = (one.finding.account, one.finding.stream, one.finding.consumer)
                before, labels = found.get(key, ()), self._labels[one.check.code]
                if labels not in before:
                    found[key] = (*before, labels)
        return found

    @cached_property
    def _labels(self) -> Mapping[str, tuple[str, Severity]]:
        """By code: made once, for a large system has hundreds of thousands of findings."""
        failed = {one.check.code: one.check.severity for one in self.active}
        return {code: (code, severity) for code, severity in failed.items()}


def subject_name(finding: Finding) -> str:
    """How a person calls it: ORDERS, ORDERS > worker, server n1, account APP."""
    if finding.stream:
        return " > ".join(filter(None, (finding.stream, finding.consumer)))
    if finding.server:
        return f"server {finding.server}"
    return f"account {finding.account}" if finding.account else "the system"


def in_order(told: Iterable[Told]) -> tuple[Told, ...]:
    """The worst first, then by check, then by name."""
    by_check: dict[str, list[Told]] = {}
    for one in told:
        by_check.setdefault(one.check.code, []).append(one)
    groups = sorted(by_check.items(), key=lambda found: (found[1][0].check.severity.rank, found[0]))
    return tuple(one for _, group in groups for one in sorted(group, key=_names))


def _names(one: Told) -> tuple[str, str, str, str]:
    found = one.finding
    return found.account, found.stream, found.consumer, found.server


SUBJECT_ORDER = (
    Subject.CONSUMER,
    Subject.STREAM,
    Subject.ACCOUNT,
    Subject.SERVER,
    Subject.META,
)
