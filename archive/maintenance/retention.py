"""Retention: days to delete by age and size, but never the newest or an open one."""

from __future__ import annotations

from collections.abc import Sequence

from archive.settings.publishing import RetentionSettings
from archive.tables.manifest import Manifest
from archive.tables.schema import DAY_MS, day_time


def expired_days(
    manifest: Manifest, settings: RetentionSettings, now: int, delay: int
) -> list[str]:
    """Oldest first. A day is open until `delay` after its end."""
    names = sorted(manifest.days)
    over = [name for name in names[:-1] if now >= day_time(name) + DAY_MS + delay]
    aged = [name for name in over if _is_aged(name, settings, now)]
    return sorted({*aged, *_oversize(manifest, over, settings.size)})


def without_days(manifest: Manifest, names: Sequence[str], now: int) -> Manifest:
    kept = {name: day for name, day in manifest.days.items() if name not in names}
    return manifest.after(now, days=kept)


def _is_aged(name: str, settings: RetentionSettings, now: int) -> bool:
    return settings.age is not None and now - (day_time(name) + DAY_MS) > settings.age * 1000


def _oversize(manifest: Manifest, over: Sequence[str], limit: int | None) -> list[str]:
    if limit is None:
        return []
    size = sum(entry.size for entry in manifest.files())
    found = []
    for name in over:
        if size <= limit:
            break
        size -= manifest.days[name].size
        found.append(name)
    return found
