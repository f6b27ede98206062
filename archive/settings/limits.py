"""How much one sender may ask for: the limits that keep a request's cost bounded."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.serving.settings.loader import Duration, Size, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    body: Size = setting(
        16 * 1024**2, "Largest request body, compressed as it comes.", minimum=1024
    )
    decoded: Size = setting(
        64 * 1024**2,
        "Largest request after decompression; looked at before decompressing.",
        minimum=1024,
    )
    series: int = setting(100_000, "Most series in one request.", minimum=1)
    samples: int = setting(
        500_000, "Most samples, histograms and exemplars together in one request.", minimum=1
    )
    labels: int = setting(128, "Most labels of one series.", minimum=1)
    label_bytes: Size = setting(
        32 * 1024, "Largest total of label names and values of one series.", minimum=64
    )
    live_series: int = setting(
        5_000_000,
        "Most series that were seen within two hours; samples of further new ones are refused.",
        minimum=1,
    )
    future: Duration = setting(
        600.0, "How far ahead of this machine's clock a sample may be.", minimum=0
    )
    waiting: Size = setting(
        256 * 1024**2,
        "Bodies under way together; further requests are answered 503 and come again.",
        minimum=1024**2,
    )
