"""Evidence about one consumer, as its conditions are judged by."""

from __future__ import annotations

from typing import Any

from support.exporter.models import NOW

from exporter.signals.conditions.evidence import Evidence
from exporter.signals.window import Point

STEP = 30.0


def points(**series: list[int]) -> dict[str, Any]:
    """Points half a minute apart, the last one now: one list for each field that matters."""
    length = max(map(len, series.values()))
    fields = {"deliveries": 0, "redeliveries": 0, "lost": 0, "backlog": 0, "floor": 0}
    made = [
        Point(
            at=NOW - STEP * (length - 1 - place),
            **{
                name: series[name][place] if name in series else fields.get(name, 0)
                for name in {**fields, **series}
            },
        )
        for place in range(length)
    ]
    return {"past": made[:-1], "now": made[-1]}


AGES = {
    "undelivered": "undelivered_since",
    "no_new": "no_new_since",
    "unpulled": "unpulled_since",
    "floor_age": "floor_since",
}


def evidence(**changes: Any) -> Evidence:
    """A pull consumer with a client waiting, ack_wait of 30 s, nothing wrong; ages in seconds."""
    plain: dict[str, Any] = {
        "paused": False,
        "push": False,
        "reachable": True,
        "num_pending": 0,
        "num_ack_pending": 0,
        "max_ack_pending": 100,
        "ack_wait_seconds": 30.0,
        "undelivered_since": NOW,
        "no_new_since": NOW,
        "floor_since": NOW,
        "floor_exhausted": False,
        **points(deliveries=[5, 9], floor=[5, 9]),
    }
    for age, field in AGES.items():
        if age in changes:
            plain[field] = NOW - changes.pop(age)
    return Evidence(**{**plain, **changes})


FULL: dict[str, Any] = {"num_ack_pending": 100, "num_pending": 5}
STUCK: dict[str, Any] = {
    "num_ack_pending": 1,
    "floor_age": 301.0,
    **points(deliveries=[1, 50, 99], floor=[7, 7, 7]),
}
