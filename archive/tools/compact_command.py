"""`streamgauge archive compact`: publishes the log and merges the files of finished days."""

from __future__ import annotations

import asyncio
import sys
import time
from argparse import Namespace
from pathlib import Path

from archive.progress import Progress
from archive.publishing.publisher import Published, Publisher
from archive.settings.publishing import PublishSettings
from archive.settings.wal import WalSettings
from archive.tables.manifest_store import read_manifest
from archive.tables.schema import WAL
from archive.tables.storage import Storage, open_storage
from archive.tools.archive_view import ArchiveMissingError
from archive.wal.write_ahead_log import Wal


def run(args: Namespace, progress: Progress) -> int:
    storage = open_storage(args.store or args.place)
    folder = Path(args.place) / WAL
    if read_manifest(storage).publication == 0 and not folder.is_dir():
        raise ArchiveMissingError(f"{args.place}: there is no archive here (no manifest, no log)")
    least = max(read_manifest(storage).least_segment, 1)
    wal = Wal.open(folder, WalSettings(), least_segment=least)
    try:
        published, compacted = _compact(storage, wal, progress)
    finally:
        asyncio.run(wal.close())
    sys.stderr.write(
        f"published {published.samples:,} samples of {published.hours:,} hours, "
        f"merged the files of {compacted.compacted:,} days\n"
    )
    return 0


def _compact(storage: Storage, wal: Wal, progress: Progress) -> tuple[Published, Published]:
    publisher = Publisher(storage, wal, PublishSettings(), progress)
    now = time.time_ns() // 1_000_000
    return publisher.publish_all(now), publisher.publish_due(now)
