"""Settings of the quarantine."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.serving.settings.loader import Size, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineSettings:
    size: Size = setting(
        64 * 1024**2,
        "Maximum size of the kept requests; the oldest are deleted first, 0B keeps none.",
        minimum=0,
    )
    files: int = setting(
        2_000,
        "Maximum number of files, two for each request; the oldest are deleted first.",
        minimum=0,
    )
    per_minute: int = setting(
        10, "Requests kept in a minute for each sender and broken rule.", minimum=0
    )
