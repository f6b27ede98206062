"""Files that nobody needs: replaced ones after their grace, and what a crash left behind."""

from __future__ import annotations

import re
from dataclasses import replace

from archive.tables.manifest import Manifest
from archive.tables.manifest_store import LOG_DIGITS
from archive.tables.schema import SCHEMAS
from archive.tables.storage import TEMPORARY, Storage


def unnamed_files(storage: Storage, manifest: Manifest) -> list[str]:
    """Files in the archive's folders that the manifest neither names nor has retired."""
    named = {entry.path for entry in manifest.files()} | {each.path for each in manifest.retired}
    return [
        stored.path
        for table in SCHEMAS
        for stored in storage.list(table)
        if stored.path not in named
    ]


def delete_unnamed(storage: Storage, manifest: Manifest, log: str) -> int:
    """Only for the owner of that log: to it an unnamed file of its own is a broken-off publication.

    Whose files others are nobody knows here; they stay, and `verify` names them.
    """
    ours = re.compile(rf"(?:^|-)\d{{10}}-{log[:LOG_DIGITS]}[0-9a-f]{{4}}(?:-\d+)?\.parquet$")
    doomed = [path for path in unnamed_files(storage, manifest) if ours.search(_name(path))]
    for path in doomed:
        storage.delete(path)
    return len(doomed)


def _name(path: str) -> str:
    return path.rpartition("/")[2].removeprefix(TEMPORARY)


def delete_retired(storage: Storage, manifest: Manifest, now: int, grace: int) -> Manifest:
    """The manifest without those that were deleted; it goes out with the next publication."""
    doomed = {each.path for each in manifest.retired if now - each.since >= grace}
    for path in sorted(doomed):
        storage.delete(path)
    kept = tuple(each for each in manifest.retired if each.path not in doomed)
    return replace(manifest, retired=kept) if doomed else manifest
