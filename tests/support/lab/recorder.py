"""Keeps every alert that Alertmanager had, without those that another alert inhibits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from support.alert_pipeline.config import ALONE, SYSTEM
from support.alert_pipeline.pipeline import Pipeline
from support.lab.failure import Alerted, Failure, first_number

_PAUSE_SECONDS = 1.0
_LOUD = ("critical", "warning")
Key = tuple[str, str, str, str, str]


def key_of(alert: Alerted) -> Key:
    return alert.system, alert.name, alert.stream, alert.consumer, alert.check


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

    def raised(self, failure: Failure, system: str) -> Alerted | None:
        of_system = (one for one in self.seen.values() if one.system == system)
        return next(filter(failure.matches, of_system), None)

    async def until_raised(self, failure: Failure, system: str, limit: float) -> Alerted | None:
        """None if it did not come in time."""
        return await self._until(lambda: self.raised(failure, system), limit)

    async def until_text(
        self, failure: Failure, truth: tuple[float, float], limit: float
    ) -> bool | None:
        """Its first number lies between these; the first polls may have seen a part."""

        def is_true() -> bool | None:
            alert = self.raised(failure, SYSTEM)
            return (alert and truth[0] <= first_number(alert.description) <= truth[1]) or None

        return await self._until(is_true, limit)

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
        """Of the system as the system source sees it, and of the exporter."""
        return [one for one in self.seen.values() if one.severity in _LOUD and one.system != ALONE]


@asynccontextmanager
async def recording(watched: Pipeline) -> AsyncIterator[Recorder]:
    recorder = Recorder(watched)
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder
    finally:
        task.cancel()
        (end,) = await asyncio.gather(task, return_exceptions=True)
        # One that died saw nothing any more.
        assert isinstance(end, asyncio.CancelledError), end


def _alerted(found: dict[str, Any]) -> Alerted:
    labels, notes = found["labels"], found["annotations"]
    return Alerted(
        labels.get("system", ""),
        labels["alertname"],
        labels["severity"],
        labels.get("stream", ""),
        labels.get("consumer", ""),
        labels.get("check", ""),
        notes.get("description", ""),
        notes.get("runbook_url", ""),
    )
