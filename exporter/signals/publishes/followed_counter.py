"""One counter over successive subscriptions: leaders move, servers restart."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.subscription_counts import CounterId, Counters


@dataclass(slots=True)
class FollowedCounter:
    total: int = 0
    updated_at: float = float("-inf")
    _seen: dict[CounterId, int] | None = None

    def update(self, counters: Counters, now: float, *, from_birth: bool) -> None:
        """`from_birth`: the asset is younger than the exporter, so the first values count in full."""
        if self._seen is not None:
            self._seen = self._grown(counters, self._seen)
        else:
            self.total += sum(got for _, got in counters) if from_birth else 0
            self._seen = dict(counters)
        self.updated_at = now

    def _grown(self, counters: Counters, before: dict[CounterId, int]) -> dict[CounterId, int]:
        known = {who[:3] for who in before}
        present = {who[:3] for who, _ in counters}
        # Copies in other accounts are not in every response: a known one keeps its value.
        after = {who: seen for who, seen in before.items() if who[:3] in present}
        for who, got in counters:
            if who in before:
                self.total += max(0, got - before[who])
            elif who[:3] not in known:
                self.total += got  # a new subscription, not a copy of a known one
            after[who] = max(got, after.get(who, 0))
        return after
