"""Files that no manifest of the last runs names are removed, when they are old enough to be nobody's."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from spark_rollups.identity import FOLDER as IDENTITIES
from spark_rollups.places import TEMPORARY, Place
from spark_rollups.rollup_manifest import Manifest, decoded, manifest_path, numbers
from spark_rollups.schemas import TABLES

# Readers that opened an earlier result go on reading it meanwhile.
KEPT_MANIFESTS: Final = 3
# A file of a run that is still going on is named by nobody either; its name says when it began.
GRACE_MS: Final = 24 * 3_600_000


def clean(place: Place, newest: Manifest, identities: Iterable[str]) -> list[str]:
    """What was removed."""
    kept = [number for number in numbers(place) if number > newest.number - KEPT_MANIFESTS]
    named = newest.paths()
    for number in kept:
        path = manifest_path(number)
        named |= decoded(place.read(path), f"{place}/{path}").paths()
    oldest = int(time.time() * 1000) - GRACE_MS
    gone = [
        path
        for table in TABLES
        for path in place.walk(table)
        if path not in named and _began(path) < oldest
    ]
    gone += sorted(set(place.walk(IDENTITIES)) - set(identities))
    gone += [manifest_path(number) for number in numbers(place) if number not in kept]
    for path in gone:
        place.delete(path)
    return gone


def _began(path: str) -> int:
    """When the run began that wrote a file; a name that is not ours is left alone."""
    word = path.rpartition("/")[2].removeprefix(TEMPORARY).partition("-")[0]
    return int(word) if len(word) == 13 and word.isdecimal() else time.time_ns()
