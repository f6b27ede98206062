"""Deletes files without use: replaced ones after the grace period, and leftovers of a crash."""

from __future__ import annotations

import re
from dataclasses import replace

from archive.tables.manifest import Manifest
from archive.tables.manifest_store import LOG_DIGITS
from archive.tables.schema import SCHEMAS
from archive.tables.storage import TEMPORARY, Storage


def unnamed_files(storage: Storage, manifest: Manifest) -> list[str]:
    """Files in the archive's folders that are neither in the manifest nor retired."""
    named = {entry.path for entry in manifest.files()} | {each.path for each in manifest.retired}
    return [
        stored.path
        for table in SCHEMAS
        for stored in storage.list(table)
        if stored.path not in named
    ]


def delete_unnamed(storage: Storage, manifest: Manifest, log: str) -> int:
    """Deletes files of interrupted publications of this log. Call it only as the owner of the log.

    Other unnamed files have an unknown owner: they stay, and `verify` reports them.
    """
    ours = re.compile(rf"(?:^|-)\d{{10}}-{log[:LOG_DIGITS]}[0-9a-f]{{4}}(?:-\d+)?\.parquet$")
    doomed = [path for path in unnamed_files(storage, manifest) if ours.search(_name(path))]
    for path in doomed:
        storage.delete(path)
    return len(doomed)


def _name(path: str) -> str:
    return path.rpartition("/")[2].removeprefix(TEMPORARY)


def delete_retired(storage: Storage, manifest: Manifest, now: int, grace: int) -> Manifest:
    """The manifest without the deleted files; the next publication writes it."""
    doomed = {each.path for each in manifest.retired if now - each.since >= grace}
    for path in sorted(doomed):
        storage.delete(path)
    kept = tuple(each for each in manifest.retired if each.path not in doomed)
    return replace(manifest, retired=kept) if doomed else manifest
