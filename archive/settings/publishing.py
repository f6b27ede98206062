"""When hours become Parquet, where they are kept, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.serving.settings.loader import Duration, Size, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    age: Duration | None = setting(
        None,
        "Days that ended longer ago than this are deleted; for ever when left out.",
        minimum=86_400,
    )
    size: Size | None = setting(
        None,
        "When the published files are larger than this, the oldest days are deleted, but never the newest day nor one that is still open; no limit when left out.",
        minimum=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishSettings:
    store: str | None = setting(
        None,
        "Where the Parquet files go: a folder, or an address like s3://bucket/prefix?region=eu-1, gs://... or abfs://...; the data folder when left out.",
    )
    delay: Duration = setting(
        600.0,
        "Time after the end of an hour until it is published. Samples that come later rewrite it, at most as often as this.",
        minimum=0,
    )
    batch_samples: int = setting(
        4_000_000,
        "Samples that publication holds in memory at once, at about 170 bytes each; a larger hour is worked through in parts.",
        minimum=10_000,
    )
    grace: Duration = setting(
        3600.0,
        "Time that a replaced file stays for readers who opened the archive before.",
        minimum=0,
    )
    retention: RetentionSettings = setting(
        RetentionSettings(), "What is deleted, and when. By default nothing is."
    )
