"""Clients that send nothing do not keep a sender out."""

from __future__ import annotations

import time
from pathlib import Path

from support.archive.process import archiving
from support.raw_connections import HALF_REQUEST, many_connections, with_descriptors
from support.remote_write import messages as rw

SILENT = 1_200
DESCRIPTORS = 1_024


async def test_an_authenticated_sender_writes_beside_1200_silent_connections(
    tmp_path: Path,
) -> None:
    files = {
        "archive.yml": f"data: {tmp_path / 'data'}\nbearer_tokens: {{eu: eu.token}}\n",
        "eu.token": "secret",
    }
    flags = ("--config", str(tmp_path / "archive.yml"))
    token = {"Authorization": "Bearer secret"}
    async with archiving(
        tmp_path, *flags, files=files, headers=token, before=with_descriptors(DESCRIPTORS)
    ) as archive:
        at = time.time_ns() // 1_000_000
        for sent in (b"", HALF_REQUEST):
            async with many_connections(archive.port, SILENT, sent):
                for number in range(20):
                    message = rw.request_v1(*rw.many(5, {}, at + number))
                    assert (await archive.write(message)).status == 204
        series = await archive.scrape()
        assert (series.value("archive_dropped_connections_total", reason="evicted") or 0) > 1_000
        assert series.value("archive_dropped_connections_total", reason="accept") == 0
        log = [line for line in await archive.log_lines() if "connection" in line]
        assert len(log) <= 2  # once a minute
