"""How far a server's clock is from ours: the answer with the shortest way counts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime

from exporter.model import ClockReading

# A crystal drifts by some 50 us a second at worst, so within this window an old sample with a short
# way is worth more than a fresh one with a long way.
WINDOW_SECONDS = 120.0
_KEPT = 32


@dataclass(frozen=True, slots=True)
class ClockSample:
    taken: float
    offset: float
    round_trip: float


def clock_sample(sent: float, round_trip: float, server_time: datetime) -> ClockSample:
    """The server read its clock somewhere between sending and receiving: take the middle."""
    return ClockSample(sent, server_time.timestamp() - (sent + round_trip / 2), round_trip)


@dataclass(slots=True)
class ClockBook:
    """The recent samples of every server of a system."""

    _samples: dict[str, deque[ClockSample]] = field(default_factory=dict)

    def observe(
        self, server: str, sent: float, round_trip: float, server_time: datetime | None
    ) -> None:
        if server_time is None or not server:
            return
        kept = self._samples.setdefault(server, deque(maxlen=_KEPT))
        kept.append(clock_sample(sent, round_trip, server_time))

    def reading(self, server: str, now: float) -> ClockReading | None:
        recent = [
            sample
            for sample in self._samples.get(server, ())
            if 0 <= now - sample.taken <= WINDOW_SECONDS
        ]
        if not recent:
            return None
        best = min(recent, key=lambda sample: sample.round_trip)
        return ClockReading(best.offset, best.round_trip / 2, best.round_trip)

    def forget(self, servers: set[str]) -> None:
        for name in servers:
            self._samples.pop(name, None)
