"""Runs the chain, all parts at once or in two steps, and gathers the rows of its table."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from archive.tables.archive_tables import open_tables
from bench.big_server import BigServer, Size, big_server
from bench.chain.meter import Meter, Process, first_ended, read_all, read_to_end
from bench.chain.parts import Place, archive, end, exporter, prometheus, recorded
from bench.chain.prometheus_load import PrometheusLoad
from bench.chain.table import (
    Row,
    archive_bytes_a_day,
    slowest_group,
    slowest_query,
    tsdb_bytes_a_day,
)
from bench.movement import moving
from bench.process import free_port
from bench.scrape_cost import Cost, peers
from bench.table import megabytes, seconds
from streamgauge.demo.processes.child import STREAMGAUGE, Child
from streamgauge.demo.processes.programs import java

MOVES = 0.01  # of the consumers
_REFRESH_SECONDS = 30.0
_READ_SECONDS = 1.0
_LONGEST = aiohttp.ClientTimeout(total=None)


@dataclass(slots=True)
class ChainRun:
    size: Size
    minutes: float
    place: Place
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path, size: Size, minutes: float, interval: int) -> ChainRun:
        return cls(size, minutes, Place(folder, interval))

    async def live(self) -> None:
        """Everything at once."""
        async with self._polled() as (nats, port):
            async with exporter(self.place, nats.address("sys"), port) as child:
                own = await _meters({"nats-server": nats.server, "exporter": child})
                await self._after_scrapes(port, own)
                self.rows[1:1] = [_row(meter) for meter in own]
            await self._peers(nats)

    async def in_two_steps(self) -> None:
        """Nothing scrapes the exporter in the first step; the second has no nats-server."""
        async with self._polled() as (nats, port):
            async with exporter(self.place, nats.address("sys"), port) as child:
                own = await _meters({"nats-server": nats.server, "exporter": child})
                await self._watch(own, None)
                self.rows += [_row(meter) for meter in own]
                body, kind = await _exposition(port)
            await self._peers(nats)
        self.notes.append(
            f"recorded exposition: {megabytes(len(body))}; its values do not change, so the bytes a "
            "day say little"
        )
        async with recorded(body, kind) as port:
            await self._after_scrapes(port, [])

    async def roll_up(self) -> None:
        """Of the archived time, as far as Java is available."""
        if await asyncio.to_thread(java) is None:
            self.notes.append("rollup and report: skipped, Java is not available")
            return
        rollups = str(self.place.folder / "rollups")
        await self._run_once("rollup", "--archive", str(self.place.archive), "--out", rollups)
        month, out = f"{datetime.now(UTC):%Y-%m}", str(self.place.folder / "report")
        await self._run_once("report", "--rollups", rollups, "--month", month, "--out", out)

    @asynccontextmanager
    async def _polled(self) -> AsyncIterator[tuple[BigServer, int]]:
        """A server whose consumers move, measured before anything polls it; a port."""
        async with big_server(self.size) as nats, moving(nats, MOVES):
            alone = await Meter.start("nats-server, not polled", nats.server)
            await self._watch([alone], None, min(1.0, self.minutes))
            self.rows.append(_row(alone))
            yield nats, free_port()

    async def _after_scrapes(self, exporter_port: int, own: list[Meter]) -> None:
        """Prometheus, boards and archive, on what the port serves."""
        archive_port = free_port()
        async with AsyncExitStack() as stack:
            enter = stack.enter_async_context
            receives = await enter(archive(self.place, archive_port))
            child, address = await enter(prometheus(self.place, exporter_port, archive_port))
            receiver, scraper = await _meters({"archive": receives, "Prometheus": child})
            session = await enter(aiohttp.ClientSession(timeout=_LONGEST))
            load = PrometheusLoad(session, child.pid, address)
            await self._watch([*own, receiver, scraper], load)
            await self._note_load(load, scraper.seconds)
            chunks, index = await load.tsdb_sizes(self.place.tsdb)
            a_day = tsdb_bytes_a_day(chunks, index, scraper.seconds)
            self.rows.append(_row(scraper, a_day))
            await end(scraper)  # sends what it holds for the archive
            self.rows.append(await self._publish(receiver, scraper.seconds))

    async def _publish(self, receiver: Meter, measured: float) -> Row:
        a_minute = receiver.a_minute
        spent = await end(receiver)
        files = (await asyncio.to_thread(open_tables(self.place.archive).read)).files
        sizes = {table: sum(file.size for file in found) for table, found in files.items()}
        a_day = archive_bytes_a_day(sizes, measured)
        self.notes.append("a run of the archive: the publication of its log at the end")
        return Row("archive", a_minute, spent, receiver.peak, a_day)

    async def _note_load(self, load: PrometheusLoad, measured: float) -> None:
        scraped, archived = await load.value("scraped"), await load.value("archived")
        if not await load.value("up"):
            self.notes.append("the last scrape failed: try a longer --interval")
        slowest = seconds(await load.value("scrape"))
        self.notes += [
            slowest_group(load.groups),
            *slowest_query({board: found.values() for board, found in load.queries.items()}),
            f"{scraped:,.0f} samples a scrape, slowest scrape {slowest}",
            f"samples a second: {scraped / self.place.interval:,.0f} scraped, "
            f"{archived / measured:,.0f} archived",
            f"bytes a day: computed from {measured / 60:.1f} minutes; longer chunks are smaller",
        ]

    async def _watch(
        self, meters: Sequence[Meter], load: PrometheusLoad | None, minutes: float | None = None
    ) -> None:
        """Reads the meters for that time; refreshes boards and prints progress, also at the end."""
        began = time.monotonic()
        ends = began + (self.minutes if minutes is None else minutes) * 60
        due, now = began + _REFRESH_SECONDS, began
        while now < ends:
            await asyncio.sleep(min(_READ_SECONDS, ends - now))
            await read_all(meters)
            now = time.monotonic()
            if now >= min(due, ends):
                due = now + _REFRESH_SECONDS
                await _refresh(load, meters)
                _progress(time.monotonic() - began, ends - began, meters)

    async def _run_once(self, name: str, *words: str) -> None:
        print(f"  {name}", flush=True)
        child = Child(name, self.place.folder / f"{name}.log")
        await child.start(*STREAMGAUGE, name, *words)
        meter = await Meter.start(name, child)
        try:
            code = await read_to_end(meter)
        finally:
            await child.stop()
        if code:
            raise await child.failure(f"ended with exit code {code}")
        self.rows.append(Row(name, None, meter.cpu, meter.peak))

    async def _peers(self, nats: BigServer) -> None:
        for found in await peers(nats):
            if isinstance(found, Cost):
                a_minute = found.cpu * 60 / self.place.interval
                self.rows.append(Row(found.name, a_minute, None, found.peak))
            else:
                self.notes.append(f"{found}: not on PATH")


async def _meters(parts: Mapping[str, Process]) -> list[Meter]:
    return [await Meter.start(name, process) for name, process in parts.items()]


def _row(meter: Meter, a_day: float | None = None) -> Row:
    return Row(meter.name, meter.a_minute, None, meter.peak, a_day)


async def _refresh(load: PrometheusLoad | None, meters: Sequence[Meter]) -> None:
    if load is None:
        return
    try:
        await load.refresh()
    except aiohttp.ClientError:
        await first_ended(meters)
        raise


def _progress(passed: float, whole: float, meters: Sequence[Meter]) -> None:
    parts = ", ".join(f"{each.name} {each.peak / 1e6:.0f}" for each in meters)
    print(f"  {passed:.0f} of {whole:.0f} s: {parts} MB", flush=True)


async def _exposition(port: int) -> tuple[bytes, str]:
    """The body as sent, compressed, and its content type."""
    url = f"http://127.0.0.1:{port}/metrics"
    async with (
        aiohttp.ClientSession(auto_decompress=False, timeout=_LONGEST) as session,
        session.get(url, headers={"Accept-Encoding": "gzip"}) as response,
    ):
        response.raise_for_status()
        return await response.read(), response.headers["Content-Type"]
