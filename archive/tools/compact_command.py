"""`streamgauge archive compact`: publishes the log and merges the files of finished days."""

from __future__ import annotations

import asyncio
import sys
import time
from argparse import Namespace
from pathlib import Path

from archive.progress import Progress
from archive.publishing.log_id import first_unused_segment
from archive.publishing.publisher import Published, Publisher
from archive.settings.publishing import PublishSettings
from archive.settings.wal import WalSettings
from archive.tables.archive_tables import ArchiveTables, open_tables
from archive.tables.schema import WAL
from archive.tools.archive_view import NOTHING, ArchiveMissingError
from archive.wal.write_ahead_log import Wal


def run(args: Namespace, progress: Progress) -> int:
    tables = open_tables(args.store or args.place)
    folder = Path(args.place) / WAL
    if tables.read().is_absent and not folder.is_dir():
        raise ArchiveMissingError(f"{args.place}: there is no archive here {NOTHING}")
    wal = Wal.open(folder, WalSettings(), least_segment=first_unused_segment(tables, folder))
    try:
        published, compacted = _compact(tables, wal, progress)
    finally:
        asyncio.run(wal.close())
    sys.stderr.write(
        f"published {published.samples:,} samples of {published.hours:,} hours, "
        f"merged the files of {compacted.compacted:,} days\n"
    )
    return 0


def _compact(tables: ArchiveTables, wal: Wal, progress: Progress) -> tuple[Published, Published]:
    publisher = Publisher(tables, wal, PublishSettings(), progress)
    now = time.time_ns() // 1_000_000
    return publisher.publish_all(now), publisher.publish_due(now)
