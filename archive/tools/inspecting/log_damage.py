"""Damaged bytes of the log: between which requests they are, and how to bring them back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archive.tools.arguments import moment
from archive.wal.segments.log import DAMAGED_SUFFIX
from archive.wal.segments.reader import SegmentFrames
from archive.wal.segments.segment import segment_paths
from archive.wal.segments.tail_check import Damage


@dataclass(frozen=True, slots=True)
class LogDamage:
    """Times in milliseconds: of the requests before and behind; None at an end of the segment."""

    file: str
    damage: Damage
    after: int | None
    before: int | None
    senders: tuple[str, ...]
    """Of the segment: those that may have lost samples."""

    def facts(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "offset": self.damage.offset,
            "bytes": self.damage.size,
            "reason": self.damage.reason,
            "from": self.after,
            "to": self.before,
            "senders": list(self.senders),
        }


def log_damage(folder: Path) -> Iterator[LogDamage]:
    """Of the segments that wait, and of those set aside after their publication."""
    aside = sorted(folder.glob(f"*{DAMAGED_SUFFIX}"))
    for path in (*aside, *segment_paths(folder).values()):
        yield from _damage_of(path)


def lines(facts: dict[str, Any]) -> Iterator[str]:
    """One damaged span for the terminal."""
    yield f"damaged: {facts['file']} {facts['reason']} at byte {facts['offset']:,}"
    first, last = (moment(facts[key]) if facts[key] is not None else "" for key in ("from", "to"))
    when = f"from {first or 'the start of this file'} to {last or 'its end'}"
    yield f"  {facts['bytes']:,} bytes: requests received {when}"
    yield "  The requests around them are kept. To bring back the others, import this time"
    yield f"  from the storage of the sender: {', '.join(facts['senders']) or 'unknown'}"


def _damage_of(path: Path) -> Iterator[LogDamage]:
    frames = SegmentFrames(path)
    bounds: list[tuple[int | None, int | None]] = []
    senders: set[str] = set()
    last: int | None = None
    for record in frames.requests():
        now = record.batch.received
        bounds += [(last, now)] * (len(frames.damage) - len(bounds))
        last = now
        senders.add(record.batch.sender)
    damage = frames.ending.damage
    bounds += [(last, None)] * (len(damage) - len(bounds))
    for each, (after, before) in zip(damage, bounds, strict=True):
        yield LogDamage(path.name, each, after, before, tuple(sorted(senders)))
