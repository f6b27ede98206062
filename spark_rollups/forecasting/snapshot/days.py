"""Days that get a forecast snapshot: the newest whole day and the last day of each month."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from spark_rollups.rollup.tables.manifest import Day


def newest_whole_day(days: Mapping[str, Day]) -> str | None:
    """A day is whole if it has its last hour, or if a later day exists."""
    if not days:
        return None
    newest = max(days)
    earlier = [day for day in days if day < newest]
    if days[newest].hours >> 23 & 1 or not earlier:
        return newest
    return max(earlier)


def month_ends(days: Iterable[str]) -> list[str]:
    """The last day with data of each past month."""
    return [day for day, after in itertools.pairwise(sorted(days)) if day[:7] != after[:7]]
