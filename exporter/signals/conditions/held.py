"""The conditions of an asset that hold, and since when."""

from __future__ import annotations

from collections.abc import Iterable

# Words of the label `condition` with the time since when each holds, on the exporter's clock.
Held = tuple[tuple[str, float], ...]

# States of work, not faults.
HARMLESS = frozenset({"long_jobs", "back_pressure"})


def still_held(before: Held, found: Iterable[tuple[str, float]]) -> Held:
    """`found` holds now, each since the time that this poll shows; one that held keeps its start."""
    now = tuple(found)
    if not now or not before:
        return now
    starts = dict(before)
    return tuple((word, starts.get(word, since)) for word, since in now)
