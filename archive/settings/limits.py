"""Limits that bound the cost of a request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

from streamgauge.serving.memory_limit import within_memory
from streamgauge.serving.settings.loader import Duration, Size, setting

_BYTES_A_SERIES: Final = 1_500  # with 20 labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    body: Size = setting(16 * 1024**2, "Maximum size of a request body, compressed.", minimum=1024)
    decoded: Size = setting(
        64 * 1024**2,
        "Maximum size of a decompressed body; checked before decompression.",
        minimum=1024,
    )
    series: int = setting(100_000, "Maximum series in one request.", minimum=1)
    samples: int = setting(
        500_000, "Maximum samples, histograms and exemplars together in one request.", minimum=1
    )
    labels: int = setting(128, "Maximum labels of one series.", minimum=1)
    label_bytes: Size = setting(
        32 * 1024, "Maximum total size of the label names and values of one series.", minimum=64
    )
    live_series: int = setting(
        5_000_000,
        "Maximum series received within the last two hours; samples of further new series are refused. Lower where they would take more than half of the memory limit.",
        minimum=1,
    )
    future: Duration = setting(
        600.0, "How far ahead of the archive's clock a sample may be.", minimum=0
    )
    waiting: Size = setting(
        256 * 1024**2,
        "Maximum size of all request bodies in flight; further requests get 503, and the sender retries. At most an eighth of the memory limit.",
        minimum=1024**2,
    )

    def within(self, memory: int | None) -> Self:
        """Fitted to the memory limit of the process."""
        held = self.live_series * _BYTES_A_SERIES
        live = within_memory(held, 2, "limits.live_series", memory) // _BYTES_A_SERIES
        waiting = within_memory(self.waiting, 8, "limits.waiting", memory)
        return replace(self, live_series=live, waiting=waiting)
