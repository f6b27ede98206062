"""Whether a stream or a subscriber receives a consumer's MAX_DELIVERIES advisories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.model import Consumer, Stream
from exporter.signals.loss.coverage import covers
from exporter.subscription_counts import SubscriptionCounts

_EXHAUSTED = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"


@dataclass(slots=True)
class _Listeners:
    literal: set[str] = field(default_factory=set)
    wide: set[str] = field(default_factory=set)

    def add(self, subject: str) -> None:
        is_wide = "*" in subject or subject.endswith(">")
        (self.wide if is_wide else self.literal).add(subject)

    def matches(self, subject: str) -> bool:
        return subject in self.literal or any(covers(wide, subject) for wide in self.wide)


@dataclass(slots=True)
class Captures:
    """By account: subscribers, where they are known, and streams that store the advisory."""

    whole: frozenset[str]
    _listeners: dict[str, _Listeners] = field(default_factory=dict)

    @classmethod
    def of(cls, streams: Iterable[Stream], counts: SubscriptionCounts | None) -> Captures:
        found = cls(counts.whole_accounts if counts is not None else frozenset())
        for row in streams:
            for subject in row.config.subjects if row.config is not None else ():
                if subject.startswith(("$", "*", ">")):
                    found._add(row.account, subject)
        if counts is not None:
            for account, subjects in counts.advisory_listeners.items():
                for subject in subjects:
                    found._add(account, subject)
        return found

    @property
    def empty(self) -> bool:
        """Whether no listener is known."""
        return not self._listeners

    def _add(self, account: str, subject: str) -> None:
        self._listeners.setdefault(account, _Listeners()).add(subject)

    def captured(self, row: Consumer) -> int | None:
        """None without max_deliver, and when no listener is known but the list is incomplete."""
        if row.config is None or row.config.max_deliver is None:
            return None
        listeners = self._listeners.get(row.account)
        if listeners is not None and listeners.matches(f"{_EXHAUSTED}.{row.stream}.{row.name}"):
            return 1
        return 0 if row.account in self.whole else None
