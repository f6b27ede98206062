"""Archive, rollups, report: samples arrive, the WAL is compacted, rollups and report succeed."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import DURATION
from alerts.queries import age
from alerts.rule import Alert, Board, Group, Severity
from exporter import catalog

_MEMORY = "1d"  # a dead archive reports nothing: its last sample counts for this long

NOT_RECEIVING = Alert(
    name="ArchiveNotReceiving",
    severity=Severity.WARNING,
    when=age(catalog.ARCHIVE_NEWEST_SAMPLE_TIMESTAMP_SECONDS, _MEMORY) > thresholds.ARCHIVE_SILENCE,
    for_="0s",
    guarded=False,
    summary="The archive receives no samples.",
    description=f"The newest sample of sender {{{{ $labels.sender }}}} in the archive is {DURATION} "
    "old. Prometheus keeps unsent samples for about two hours; after that they are lost.",
    condition="The newest sample of a sender is older than <archive_silence>. An archive that is "
    "down counts for a day.",
    board=Board.EXPORTER,
)

WAL_OLD = Alert(
    name="ArchiveWalOld",
    severity=Severity.WARNING,
    when=age(catalog.ARCHIVE_WAL_OLDEST_TIMESTAMP_SECONDS) > thresholds.ARCHIVE_WAL_AGE,
    for_="0s",
    guarded=False,
    summary="The archive does not compact its write-ahead log.",
    description=f"The oldest sample in the archive's write-ahead log is {DURATION} old: compaction "
    "does not run, and the log grows until the disk is full.",
    condition="The oldest sample in the write-ahead log is older than <archive_wal_age>.",
    board=Board.EXPORTER,
)

ROLLUP_OVERDUE = Alert(
    name="RollupOverdue",
    severity=Severity.WARNING,
    when=age(catalog.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS, _MEMORY) > thresholds.ROLLUP_AGE,
    for_="0s",
    guarded=False,
    summary="The daily rollup has not succeeded.",
    description=f"The last rollup that succeeded was {DURATION} ago: forecasts and the report are out "
    "of date.",
    condition="No rollup has succeeded for <rollup_age>.",
    board=Board.EXPORTER,
)

REPORT_OVERDUE = Alert(
    name="ReportOverdue",
    severity=Severity.WARNING,
    when=age(catalog.REPORT_LAST_SUCCESS_TIMESTAMP_SECONDS, _MEMORY) > thresholds.REPORT_AGE,
    for_="0s",
    guarded=False,
    summary="The monthly report has not succeeded.",
    description=f"The last report that was written and delivered is {DURATION} old: its readers miss "
    "actions that have a date.",
    condition="No monthly report has succeeded for <report_age>. Without a first success there is no alert.",
    board=Board.EXPORTER,
)

GROUPS = (Group("streamgauge.archive", (NOT_RECEIVING, WAL_OLD, ROLLUP_OVERDUE, REPORT_OVERDUE)),)
