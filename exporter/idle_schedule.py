"""When a consumer has workers, as its owner declares it. Standard library and msgspec only.

Either a longest pause between two workers, or a cron expression of the minutes (UTC) with one.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from msgspec import Struct

# Minute, hour, day of the month, month, day of the week (0 and 7: Sunday).
_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_PART = re.compile(
    r"(?:(?P<all>\*)|(?P<first>\d{1,2})(?:-(?P<last>\d{1,2}))?)(?:/(?P<step>\d{1,2}))?"
)
_NAMES = {
    name: str(number)
    for names, start in (
        ("jan feb mar apr may jun jul aug sep oct nov dec", 1), ("sun mon tue wed thu fri sat", 0),
    )
    for number, name in enumerate(names.split(), start)
}  # fmt: skip
_WORD = re.compile(r"[a-z]+")
# A start that is older is old enough for every rule.
_MAX_MINUTES_BACK = 1440


class IdleSchedule(Struct, frozen=True, gc=False):
    pause_seconds: float = 0.0  # no worker is expected more often
    cron: tuple[frozenset[int], ...] = ()  # five fields; empty: only the pause counts

    def expected_since(self, now: float) -> float | None:
        """Since when a worker is expected without a break, at most a day; None: not now."""
        if not self.cron:
            return 0.0
        minute = datetime.fromtimestamp(now, UTC).replace(second=0, microsecond=0)
        if not self._matches(minute):
            return None
        for _ in range(_MAX_MINUTES_BACK):
            before = minute - timedelta(minutes=1)
            if not self._matches(before):
                break
            minute = before
        return minute.timestamp()

    def _matches(self, minute: datetime) -> bool:
        fields = (minute.minute, minute.hour, minute.day, minute.month, minute.isoweekday() % 7)
        return all(value in allowed for value, allowed in zip(fields, self.cron, strict=True))


def parse_cron(text: str) -> IdleSchedule | None:
    """None if it is not a cron expression of five fields."""
    words = text.lower().split()
    if len(words) != len(_RANGES):
        return None
    fields = [_field(word, *limits) for word, limits in zip(words, _RANGES, strict=True)]
    if not all(fields):
        return None
    days = frozenset(day % 7 for day in fields[4])
    return IdleSchedule(cron=(*fields[:4], days))


def _field(text: str, low: int, high: int) -> frozenset[int]:
    """The values of one field; empty if it is not valid."""
    found: set[int] = set()
    for part in _WORD.sub(lambda name: _NAMES.get(name[0], name[0]), text).split(","):
        match = _PART.fullmatch(part)
        if match is None:
            return frozenset()
        step = int(match["step"] or 1)
        first = low if match["all"] else int(match["first"])
        last = high if match["all"] else int(match["last"] or (high if match["step"] else first))
        if step == 0 or not low <= first <= last <= high:
            return frozenset()
        found.update(range(first, last + 1, step))
    return frozenset(found)
