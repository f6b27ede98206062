"""The conditions of an asset that hold, and since when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from exporter.signals.conditions.words import Unjudged

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


def judged(
    before: Held,
    found: Iterable[tuple[str, float]],
    unknown: Mapping[str, str],
    gravest_first: Iterable[str],
) -> tuple[Held, Unjudged]:
    """The conditions that hold, and those that cannot be judged; `unknown`: why, for each of them.

    One that held goes on until a value shows otherwise.
    """
    if not unknown:
        return still_held(before, found), ()
    now = {word: since for word, since in before if word in unknown} | dict(found)
    held = still_held(before, ((word, now[word]) for word in gravest_first if word in now))
    return held, tuple(each for each in unknown.items() if each[0] not in now)
