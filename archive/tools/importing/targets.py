"""Import targets: a data folder without a server, or a running server."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Final

import aiohttp
import cramjam
import numpy as np

from archive.batch import NO_SERIES, Batch, Opaque
from archive.progress import Progress
from archive.publishing.log_id import first_unused_segment
from archive.publishing.publisher import Publisher
from archive.settings.publishing import PublishSettings
from archive.settings.wal import WalSettings
from archive.tables.archive_tables import open_tables
from archive.tables.schema import WAL
from archive.tools.errors import ToolError
from archive.tools.importing.batch import ImportBatch, ImportedMessage
from archive.tools.importing.remote_messages import split_batch, write_request
from archive.wal.errors import WalLockedError
from archive.wal.write_ahead_log import Wal

SENDER: Final = "import"
_WAL_BATCH: Final = 100_000
_REQUEST_SAMPLES: Final = 5_000
# Bounds the log; large publications need few rewrites.
_PUBLISH_SAMPLES: Final = 20_000_000
_ATTEMPTS: Final = 12
_LONGEST_PAUSE: Final = 5.0


class FolderTarget:
    """Writes to the log of a data folder and publishes it, like the server."""

    def __init__(self, folder: str, store: str | None, progress: Progress) -> None:
        tables, log = open_tables(store or folder), Path(folder) / WAL
        least = first_unused_segment(tables, log)
        try:
            self._wal = Wal.open(log, WalSettings(), least_segment=least)
        except WalLockedError as error:
            raise ToolError(
                f"{error}; use the server's address (http://HOST:PORT) as target"
            ) from error
        self._publisher = Publisher(tables, self._wal, PublishSettings(), progress)
        self._waiting = 0

    async def add(self, batch: ImportBatch) -> None:
        for chunk in split_batch(batch, _WAL_BATCH):
            await self._wal.append((), self._numbered(chunk))
        self._waiting += len(batch)
        if self._waiting >= _PUBLISH_SAMPLES:
            await asyncio.to_thread(self._publisher.publish_all, _now())
            self._waiting = 0

    async def finish(self) -> None:
        await asyncio.to_thread(self._publisher.publish_all, _now())
        await asyncio.to_thread(self._publisher.publish_due, _now())  # compacts finished days

    async def close(self) -> None:
        await self._wal.close()

    def _numbered(self, chunk: ImportBatch) -> Batch:
        identify = self._wal.series.identify
        counts = [len(each.times) for each in chunk.series]
        numbers = np.array([identify(each.labels) for each in chunk.series], np.uint32)
        none = np.empty(0, np.int64)
        return Batch(
            SENDER,
            _now(),
            np.repeat(numbers, counts),
            np.concatenate([none, *(each.times for each in chunk.series)]),
            np.concatenate([none.view(np.uint64), *(each.bits for each in chunk.series)]),
            None,
            tuple(self._opaque(message) for message in chunk.messages),
        )

    def _opaque(self, message: ImportedMessage) -> Opaque:
        labels = message.labels
        series = NO_SERIES if labels is None else self._wal.series.identify(labels)
        return Opaque(message.kind, series, message.time, message.data)


class ServerTarget:
    """Sends to a running archive by remote write 1.0."""

    def __init__(self, address: str, headers: dict[str, str]) -> None:
        self._url = address.rstrip("/") + "/api/v1/write"
        self._headers = {
            "Content-Type": "application/x-protobuf",
            "Content-Encoding": "snappy",
            "X-Prometheus-Remote-Write-Version": "0.1.0",
            **headers,
        }
        self._session: aiohttp.ClientSession | None = None

    async def add(self, batch: ImportBatch) -> None:
        for chunk in split_batch(batch, _REQUEST_SAMPLES):
            body = bytes(cramjam.snappy.compress_raw(write_request(chunk)))
            await self._post(body)

    async def finish(self) -> None:
        """Does nothing: the server publishes when it is due."""

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _post(self, body: bytes) -> None:
        """Retries 5xx responses and connection errors."""
        if self._session is None:
            self._session = aiohttp.ClientSession(headers=self._headers)
        pause, reason = 0.1, ""
        for _ in range(_ATTEMPTS):
            try:
                async with self._session.post(self._url, data=body) as response:
                    if response.status < 300:
                        return
                    reason = f"{response.status} {(await response.text()).strip()}"
                    if response.status < 500:
                        raise ToolError(f"{self._url} refused the request: {reason}")
            except aiohttp.ClientError as error:
                reason = str(error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        raise ToolError(f"{self._url}: given up after {_ATTEMPTS} attempts: {reason}")


def _now() -> int:
    return time.time_ns() // 1_000_000
