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
        known = {counter_id[:3] for counter_id in before}
        present = {counter_id[:3] for counter_id, _ in counters}
        # Copies in other accounts are not in every response: a known one keeps its value.
        after = {
            counter_id: seen for counter_id, seen in before.items() if counter_id[:3] in present
        }
        for counter_id, got in counters:
            if counter_id in before:
                self.total += max(0, got - before[counter_id])
            elif counter_id[:3] not in known:
                self.total += got  # a new subscription, not a copy of a known one
            after[counter_id] = max(got, after.get(counter_id, 0))
        return after
