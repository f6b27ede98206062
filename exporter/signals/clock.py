"""How far a server's clock is from ours: the answer with the shortest way counts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime

from exporter.model import ClockEstimate

WINDOW_SECONDS = 120.0
# Two ordinary clocks may drift apart by so many seconds per second. An old sample with a short way
# is worth more than a fresh one with a long way, but only as long as that has not eaten it up.
DRIFT = 50e-6
_KEPT = 32


@dataclass(frozen=True, slots=True)
class ClockSample:
    taken: float
    offset: float
    round_trip: float

    def unsure_at(self, now: float) -> float:
        """The offset of that moment is certainly no further away than this."""
        return self.round_trip / 2 + DRIFT * abs(now - self.taken)

    def agrees_with(self, newer: ClockSample) -> bool:
        """Whether one clock, never set in between, can have given both."""
        apart = abs(self.offset - newer.offset)
        return apart <= self.unsure_at(newer.taken) + newer.round_trip / 2


def clock_sample(sent: float, round_trip: float, server_time: datetime) -> ClockSample:
    """The server read its clock somewhere between sending and receiving: take the middle."""
    return ClockSample(sent, server_time.timestamp() - (sent + round_trip / 2), round_trip)


@dataclass(slots=True)
class ClockState:
    """The recent samples of every server of a system."""

    _samples: dict[str, deque[ClockSample]] = field(default_factory=dict)

    def observe(
        self, server: str, sent: float, round_trip: float, server_time: datetime | None
    ) -> None:
        if server_time is None or not server:
            return
        kept = self._samples.get(server)
        if kept is None:
            # Servers without a name of their own get a new one at each start.
            self._forget_unheard(sent)
            kept = self._samples[server] = deque(maxlen=_KEPT)
        kept.append(clock_sample(sent, round_trip, server_time))

    def reading(self, server: str, now: float) -> ClockEstimate | None:
        recent = [
            sample
            for sample in self._samples.get(server, ())
            if 0 <= now - sample.taken <= WINDOW_SECONDS
        ]
        if not recent:
            return None
        # Somebody set one of the two clocks: what was measured before is worth nothing now.
        valid = [sample for sample in recent if sample.agrees_with(recent[-1])]
        best = min(valid, key=lambda sample: sample.unsure_at(now))
        shortest = min(sample.round_trip for sample in valid)
        return ClockEstimate(best.offset, best.unsure_at(now), shortest)

    def servers(self) -> frozenset[str]:
        return frozenset(self._samples)

    def _forget_unheard(self, now: float) -> None:
        for name, kept in list(self._samples.items()):
            if abs(now - kept[-1].taken) > WINDOW_SECONDS:
                del self._samples[name]
