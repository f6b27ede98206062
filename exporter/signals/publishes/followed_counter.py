"""One counter out of many subscriptions that follow each other: leaders move, servers restart."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.subscription_counts import CounterId, Counters


@dataclass(slots=True)
class FollowedCounter:
    total: int = 0
    looked: float = float("-inf")
    _seen: dict[CounterId, int] | None = None

    def take(self, counters: Counters, now: float, *, from_birth: bool) -> None:
        """At first sight only what was born after us counts in full."""
        if self._seen is not None:
            self._seen = self._grown(counters, self._seen)
        else:
            self.total += sum(got for _, got in counters) if from_birth else 0
            self._seen = dict(counters)
        self.looked = now

    def _grown(self, counters: Counters, before: dict[CounterId, int]) -> dict[CounterId, int]:
        known = {who[:3] for who in before}
        present = {who[:3] for who, _ in counters}
        # Copies in other accounts are not always read: a known one keeps its number meanwhile.
        after = {who: seen for who, seen in before.items() if who[:3] in present}
        for who, got in counters:
            if who in before:
                self.total += max(0, got - before[who])
            elif who[:3] not in known:
                self.total += (
                    got  # a new subscription; else it is an old one's copy, first read now
                )
            after[who] = max(got, after.get(who, 0))
        return after
