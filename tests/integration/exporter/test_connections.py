"""Bad requests, half-sent ones and few descriptors do not stop a scrape, nor fill the log."""

from __future__ import annotations

import asyncio
from pathlib import Path

from support.bad_requests import BAD_REQUESTS, SECRET
from support.exporter.process import UNREACHABLE, exporting
from support.raw_connections import (
    HALF_REQUEST,
    kept_connection,
    many_connections,
    with_descriptors,
)

HALF_SENT = 2_000
DESCRIPTORS = 64


async def test_an_earlier_connection_is_scraped_beside_2000_half_sent_requests(
    tmp_path: Path,
) -> None:
    flags = ("--nats", UNREACHABLE)
    async with exporting(tmp_path, *flags, before=with_descriptors(DESCRIPTORS)) as exporter:
        await exporter.ready()
        async with kept_connection(exporter.port) as scraper:
            assert await scraper.get("/metrics") == 200
            async with many_connections(exporter.port, HALF_SENT, HALF_REQUEST):
                for _ in range(20):
                    assert await scraper.get("/metrics") == 200
                # A new scraper gets in as well.
                series = await exporter.scrape()
        evicted = series.value("http_dropped_connections_total", reason="evicted") or 0
        assert evicted > HALF_SENT / 2
        lines = [line for line in await exporter.log_lines() if "connection" in line]
        assert len([line for line in lines if "limit" in line or "accept" in line]) <= 4


async def test_the_log_has_no_bytes_of_bad_requests(tmp_path: Path) -> None:
    flags = ("--nats", UNREACHABLE, "--log.level", "debug")
    async with exporting(tmp_path, *flags) as exporter:
        await exporter.ready()
        for bad in BAD_REQUESTS.values():
            reader, writer = await asyncio.open_connection("127.0.0.1", exporter.port)
            writer.write(bad)
            assert b" 400 " in await reader.readline()
            writer.close()
        lines = await exporter.log_lines()
    assert any("Error handling request" in line for line in lines)
    assert not any(SECRET in line for line in lines)
