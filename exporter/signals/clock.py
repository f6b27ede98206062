"""Clocks: the offset of a server's clock, and its times on the exporter's clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from exporter.model import ClockEstimate, Server

WINDOW_SECONDS = 120.0
# Seconds per second that two clocks may drift apart. The drift makes an old sample less certain
# than a new one with a longer round trip.
DRIFT = 50e-6
_MAX_SAMPLES = 32


@dataclass(frozen=True, slots=True)
class ClockSample:
    taken: float
    offset: float
    round_trip: float

    def uncertainty_at(self, now: float) -> float:
        """Largest possible error of the offset at `now`."""
        return self.round_trip / 2 + DRIFT * abs(now - self.taken)

    def agrees_with(self, newer: ClockSample) -> bool:
        """Whether both can come from one clock that was not set in between."""
        apart = abs(self.offset - newer.offset)
        return apart <= self.uncertainty_at(newer.taken) + newer.round_trip / 2


def clock_sample(sent: float, round_trip: float, server_time: datetime) -> ClockSample:
    """Assumes that the server read its clock halfway between request and response."""
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
        samples = self._samples.get(server)
        if samples is None:
            # Servers without a configured name get a new name at each start.
            self._forget_silent(sent)
            samples = self._samples[server] = deque(maxlen=_MAX_SAMPLES)
        samples.append(clock_sample(sent, round_trip, server_time))

    def estimate(self, server: str, now: float) -> ClockEstimate | None:
        recent = [
            sample
            for sample in self._samples.get(server, ())
            if 0 <= now - sample.taken <= WINDOW_SECONDS
        ]
        if not recent:
            return None
        # If one of the two clocks was set, older samples are wrong.
        valid = [sample for sample in recent if sample.agrees_with(recent[-1])]
        best = min(valid, key=lambda sample: sample.uncertainty_at(now))
        shortest = min(sample.round_trip for sample in valid)
        return ClockEstimate(best.offset, best.uncertainty_at(now), shortest)

    def servers(self) -> frozenset[str]:
        return frozenset(self._samples)

    def _forget_silent(self, now: float) -> None:
        for name, samples in list(self._samples.items()):
            if abs(now - samples[-1].taken) > WINDOW_SECONDS:
                del self._samples[name]


def clock_offsets(servers: Iterable[Server]) -> dict[str, float]:
    return {server.name: server.clock.offset_seconds for server in servers if server.clock}


def on_exporter_clock(
    time: datetime | None, server: str, offsets: Mapping[str, float]
) -> float | None:
    """A server's time; None when it or the clock offset of that server is unknown."""
    if time is None or time.year <= 1:
        return None
    offset = offsets.get(server)
    return None if offset is None else time.timestamp() - offset
