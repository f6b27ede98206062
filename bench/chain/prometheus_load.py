"""The load of Prometheus: boards as Grafana loads them, and what its rule groups take."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from bench.rules.compare import Cost, measure
from bench.rules.queries import BenchQuery, board_queries

BOARDS = ("Fleet", "Stream", "Why is this consumer stuck?")
HOURS = 6.0  # that a board shows
_SAMPLES = {
    "scraped": 'sum(scrape_samples_scraped{job="streamgauge"})',
    "archived": 'sum(streamgauge_archive_samples_total{job="streamgauge-archive"})',
    "up": 'min(up{job="streamgauge"})',
    "scrape": 'max(max_over_time(scrape_duration_seconds{job="streamgauge"}[1h]))',
}


@dataclass(slots=True)
class PrometheusLoad:
    session: aiohttp.ClientSession
    pid: int
    address: str
    queries: dict[str, dict[str, Cost]] = field(default_factory=dict)  # the slowest, by board
    groups: dict[str, float] = field(default_factory=dict)  # the slowest evaluation

    async def refresh(self) -> None:
        """Loads every board once."""
        for board, queries in (await asyncio.to_thread(_board_queries)).items():
            slowest = self.queries.setdefault(board, {})
            found = await measure(self.session, self.pid, self.address, queries, HOURS, time.time())
            for cost in found:
                if cost.name not in slowest or cost.wall > slowest[cost.name].wall:
                    slowest[cost.name] = cost
        for name, took in (await self._evaluated()).items():
            self.groups[name] = max(took, self.groups.get(name, 0.0))

    async def value(self, name: str) -> float:
        """0 where there is no series."""
        params = {"query": _SAMPLES[name]}
        async with self.session.get(f"{self.address}/api/v1/query", params=params) as response:
            found = (await response.json())["data"]["result"]
        return float(found[0]["value"][1]) if found else 0.0

    async def tsdb_sizes(self, folder: Path) -> tuple[int, int]:
        """Bytes of chunks and of indexes, of a snapshot that includes the head."""
        url = f"{self.address}/api/v1/admin/tsdb/snapshot"
        async with self.session.post(url) as response:
            name = (await response.json())["data"]["name"]
        return await asyncio.to_thread(_sizes, folder / "snapshots" / name)

    async def _evaluated(self) -> dict[str, float]:
        async with self.session.get(f"{self.address}/api/v1/rules") as response:
            groups = (await response.json())["data"]["groups"]
        return {group["name"]: float(group["evaluationTime"]) for group in groups}


def _board_queries() -> dict[str, list[BenchQuery]]:
    found = board_queries(HOURS)
    return {board: found[board] for board in BOARDS}


def _sizes(snapshot: Path) -> tuple[int, int]:
    files = [path for path in snapshot.rglob("*") if path.is_file()]
    index = sum(path.stat().st_size for path in files if path.name == "index")
    return sum(path.stat().st_size for path in files) - index, index
