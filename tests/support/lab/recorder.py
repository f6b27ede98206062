"""Keeps every alert that Alertmanager had, without those that another alert inhibits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from support.alert_pipeline.pipeline import Pipeline
from support.lab.failure import Alerted, Failure

_PAUSE_SECONDS = 1.0
Key = tuple[str, str, str, str]


def key_of(alert: Alerted) -> Key:
    return alert.name, alert.stream, alert.consumer, alert.check


@dataclass
class Recorder:
    watched: Pipeline
    seen: dict[Key, Alerted] = field(default_factory=dict)
    now: list[Alerted] = field(default_factory=list)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def look(self) -> None:
        async with self.watched.session.get(
            f"{self.watched.alertmanager}/api/v2/alerts"
        ) as response:
            found = await response.json()
        self.now = [_alerted(one) for one in found if one["status"]["state"] == "active"]
        self.seen.update({key_of(one): one for one in self.now})
        async with self._news:
            self._news.notify_all()

    async def until_raised(self, failure: Failure, limit: float) -> Alerted | None:
        """None if it did not come in time."""
        return await self._until(
            lambda: next(filter(failure.matches, self.seen.values()), None), limit
        )

    async def until_over(self, failure: Failure, limit: float) -> bool | None:
        return await self._until(lambda: not any(map(failure.matches, self.now)) or None, limit)

    async def _until(self, found: Any, limit: float) -> Any:
        try:
            async with asyncio.timeout(limit), self._news:
                await self._news.wait_for(lambda: found() is not None)
                return found()
        except TimeoutError:
            return None

    def above_info(self) -> list[Alerted]:
        return [one for one in self.seen.values() if one.severity in ("critical", "warning")]


def _alerted(found: dict[str, Any]) -> Alerted:
    labels, notes = found["labels"], found["annotations"]
    return Alerted(
        labels["alertname"],
        labels["severity"],
        labels.get("stream", ""),
        labels.get("consumer", ""),
        labels.get("check", ""),
        notes.get("description", ""),
        notes.get("runbook_url", ""),
    )
