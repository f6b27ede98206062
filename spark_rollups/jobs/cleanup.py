"""Removes old files that no recent manifest names."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Final

from spark_rollups.filesystem import TEMPORARY, Root
from spark_rollups.forecasting.snapshot.batches import FOLDER as INPUTS
from spark_rollups.rollup.series_identity import FOLDER as IDENTITIES
from spark_rollups.rollup.tables.manifest import FOLDER as MANIFESTS
from spark_rollups.rollup.tables.manifest import Manifest, decoded, manifest_path, numbers
from spark_rollups.rollup.tables.schemas import TABLES

# Readers may still use earlier results. A run writes at most two.
KEPT_MANIFESTS: Final = 6
# Files of a running rollup are in no manifest either; their names have its start time.
GRACE_MS: Final = 24 * 3_600_000
_SCRATCH: Final = re.compile(re.escape(TEMPORARY) + r"[0-9a-f]{8}-")


def clean(root: Root, newest: Manifest, identities: Iterable[str]) -> list[str]:
    """Returns the removed paths."""
    kept = [number for number in numbers(root) if number > newest.number - KEPT_MANIFESTS]
    named = newest.paths()
    for number in kept:
        path = manifest_path(number)
        named |= decoded(root.read(path), f"{root}/{path}").paths()
    oldest = int(time.time() * 1000) - GRACE_MS
    gone = [
        path
        for folder in (*TABLES, INPUTS)
        for path in root.walk(folder)
        if path not in named and _began(root, path) < oldest
    ]
    gone += [path for path in _scratches(root) if _began(root, path) < oldest]
    gone += sorted(set(root.walk(IDENTITIES)) - set(identities))
    gone += [manifest_path(number) for number in numbers(root) if number not in kept]
    for path in gone:
        root.delete(path)
    return gone


def _scratches(root: Root) -> list[str]:
    """Temporary files of killed runs, beside the manifests and the text file."""
    named = [*root.names(""), *(f"{MANIFESTS}/{name}" for name in root.names(MANIFESTS))]
    return [path for path in named if _SCRATCH.match(path.rpartition("/")[2])]


def _began(root: Root, path: str) -> int:
    """The start time of the run that wrote a file; now for unknown names."""
    name = path.rpartition("/")[2]
    word = _SCRATCH.sub("", name).partition("-")[0]
    if len(word) == 13 and word.isdecimal():
        return int(word)
    changed = root.changed_at(path) if _SCRATCH.match(name) else None
    return time.time_ns() if changed is None else changed
