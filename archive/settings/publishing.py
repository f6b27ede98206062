"""Settings of publication and retention."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.serving.settings.loader import Duration, Size, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    age: Duration | None = setting(
        None,
        "Days that ended so long before the newest data are deleted; unset keeps them forever.",
        minimum=86_400,
    )
    series: Duration | None = setting(
        None,
        "Series without a sample for this time are forgotten; one that comes again gets a new id. Unset: as `age`, and 7d without it.",
        minimum=86_400,
    )
    size: Size | None = setting(
        None,
        "When the published files are larger than this, the oldest days are deleted, but never the newest day or an open one; unset means no limit.",
        minimum=1,
    )
    replaced: Duration = setting(
        86_400.0,
        "Time for which a replaced file stays available to readers of an earlier version of its table, in whole hours.",
        minimum=0,
    )
    history: Duration = setting(
        30 * 86_400.0,
        "Time for which the logs of the tables keep earlier versions.",
        minimum=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishSettings:
    store: str | None = setting(
        None,
        "Where the tables are: a folder, or an address like s3://bucket/prefix, gs://... or abfss://...; unset means the data folder.",
    )
    delay: Duration = setting(
        600.0,
        "Time after each full hour until everything that was received before is published.",
        minimum=0,
    )
    batch_samples: int = setting(
        4_000_000,
        "Samples that publication holds in memory at once, at about 170 bytes each; a larger hour is published in batches.",
        minimum=10_000,
    )
    retention: RetentionSettings = setting(
        RetentionSettings(), "What is deleted, and when. By default only replaced files."
    )
