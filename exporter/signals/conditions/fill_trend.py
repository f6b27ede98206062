"""The trend of a stream that fills up: a line through the fill ratios of the last hours."""

from __future__ import annotations

from array import array

from msgspec import Struct, field

from exporter.tempo import scaled

_SPACING_SECONDS = scaled(300.0, 0.0)
_WINDOW_SECONDS = scaled(6 * 3600.0)
# A shorter trend follows a single burst.
_LEAST_SECONDS = scaled(1800.0)


def _numbers() -> array[float]:
    return array("d")


class FillTrend(Struct, gc=False):
    """Oldest point first."""

    times: array[float] = field(default_factory=_numbers)
    ratios: array[float] = field(default_factory=_numbers)

    def note(self, now: float, ratio: float) -> None:
        if self.times and now < self.times[-1]:  # the exporter's clock was set back
            del self.times[:], self.ratios[:]
        if self.times and now - self.times[-1] < _SPACING_SECONDS:
            return
        self.times.append(now)
        self.ratios.append(ratio)
        while self.times[0] < now - _WINDOW_SECONDS:
            del self.times[0], self.ratios[0]

    def after(self, seconds: float) -> float | None:
        """The ratio that the line reaches `seconds` after its last point; None if it is too short."""
        if self.times[-1] - self.times[0] < _LEAST_SECONDS:
            return None
        number = len(self.times)
        mean_time, mean_ratio = sum(self.times) / number, sum(self.ratios) / number
        spread = sum((time - mean_time) ** 2 for time in self.times)
        together = sum(
            (time - mean_time) * (ratio - mean_ratio)
            for time, ratio in zip(self.times, self.ratios, strict=True)
        )
        return mean_ratio + together / spread * (self.times[-1] + seconds - mean_time)
