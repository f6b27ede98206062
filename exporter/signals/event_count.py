"""Event counters of one asset, each with the time of its last event."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from exporter.metric import Metric


class EventCount(Struct, frozen=True, gc=False):
    total: int
    last: float  # when the last event was seen, on the exporter's clock


Events = Mapping[Metric, EventCount]


class EventCounters(Struct, kw_only=True, gc=False):
    """Most assets never have an event: they have no dictionary either."""

    events: Events | None = None  # another dictionary after each event: results share it

    def add(self, counter: Metric, number: int, now: float) -> None:
        if number > 0:
            counted = EventCount(self.total(counter) + number, now)
            self.events = {**(self.events or {}), counter: counted}

    def resume(self, before: Events | None) -> None:
        """Continues the counters of the asset with the same name that was removed."""
        if before:
            self.events = before

    def total(self, counter: Metric) -> int:
        found = self.events.get(counter) if self.events is not None else None
        return 0 if found is None else found.total
