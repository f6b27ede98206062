"""Settings of the write-ahead log."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.serving.settings.loader import Duration, Size, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class WalSettings:
    segment_size: Size = setting(
        128 * 1024**2,
        "Size at which a segment of the write-ahead log is closed; it is also closed at each full hour.",
        minimum=4096,
    )
    reserve: Size = setting(
        256 * 1024**2,
        "Free disk space below which requests get 503, so that publishing has space to work.",
        minimum=0,
    )
    retry: Duration = setting(1.0, "Time until the next attempt after a disk error.", minimum=0.01)
