"""How large the write-ahead log lets a segment and a group become, and what it leaves free."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.serving.settings.loader import Duration, Size, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class WalSettings:
    segment_size: Size = setting(
        128 * 1024**2,
        "Size at which a segment of the write-ahead log is closed; it also is at each full hour.",
        minimum=4096,
    )
    reserve: Size = setting(
        256 * 1024**2,
        "Free space on the disk below which samples are refused for the time being (503), so that publishing still has room to work.",
        minimum=0,
    )
    retry: Duration = setting(
        1.0, "Time after which a disk that failed is tried again.", minimum=0.01
    )
