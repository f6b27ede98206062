"""Half-sent requests and few descriptors do not stop a scrape."""

from __future__ import annotations

from pathlib import Path

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
