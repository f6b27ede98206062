"""Reads samples of a Prometheus server in windows, by remote read or the query API."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import cramjam
import numpy as np

from archive.remote_write.protobuf import MalformedError
from archive.series.labels import RefusedError
from archive.tables.schema import HOUR_MS
from archive.tools.errors import ToolError
from archive.tools.importing.batch import ImportBatch, ImportedSeries, bits, canonical
from archive.tools.importing.remote_messages import read_request, read_response
from archive.tools.series_selector import Matcher, Selector

EVERYTHING: Final = Selector('{__name__=~".+"}', (Matcher("__name__", "=~", ".+"),))
_MIN_WINDOW: Final = 60_000
# Error texts of Prometheus, VictoriaMetrics and Mimir.
_TOO_MUCH: Final = re.compile(
    "too many samples|exceeded sample limit|maxSamplesPerQuery|err-mimir-max-"
)


class TooMuchError(Exception):
    """The server reports that the response would be too large."""


@dataclass
class PrometheusServer:
    """`without` is a label to remove, such as that of the replica."""

    address: str
    headers: dict[str, str] = field(default_factory=dict)
    without: str = ""
    _session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def has_remote_read(self) -> bool:
        """A server with remote read accepts an empty request; others return various errors."""
        status, _ = await self._read(b"")
        return status == 200

    async def read(self, selector: Selector, start: int, end: int) -> ImportBatch:
        """The exact stored samples, with stale markers; times in milliseconds, `end` is exclusive."""
        status, response = await self._read(read_request(selector, start, end - 1))
        if status != 200:
            self._refused("/api/v1/read", status, response)
        try:
            return read_response(bytes(cramjam.snappy.decompress_raw(response)), self.without)
        except (cramjam.DecompressionError, MalformedError, RefusedError) as error:
            raise ToolError(f"{self.address}/api/v1/read: the response has {error}") from error

    async def query(self, selector: Selector, start: int, end: int) -> ImportBatch:
        """The samples that PromQL shows: no stale markers, no NaN payloads."""
        # Ranges are left-closed before Prometheus 3 and left-open since; this works for both.
        form = {
            "query": f"{selector.text}[{end - start}ms]",
            "time": f"{(end - 1) / 1000:.3f}",
        }
        found = await self._api("/api/v1/query", form)
        return ImportBatch([self._series(each, start) for each in found["result"]])

    async def metrics(self, start: int, end: int) -> list[str]:
        span = {"start": f"{start / 1000:.3f}", "end": f"{end / 1000:.3f}"}
        names: list[str] = await self._api("/api/v1/label/__name__/values", span)
        return names

    def _series(self, found: dict[str, Any], start: int) -> ImportedSeries:
        times = np.array([round(at * 1000) for at, _ in found["values"]], np.int64)
        values = bits([float(value) for _, value in found["values"]])
        inside = times >= start
        labels = canonical(found["metric"], self.without)
        return ImportedSeries(labels, times[inside], values[inside])

    async def _read(self, message: bytes) -> tuple[int, bytes]:
        body = bytes(cramjam.snappy.compress_raw(message))
        headers = {
            "Content-Type": "application/x-protobuf",
            "Content-Encoding": "snappy",
            "X-Prometheus-Remote-Read-Version": "0.1.0",
        }
        return await self._request("POST", "/api/v1/read", data=body, headers=headers)

    async def _api(self, path: str, form: dict[str, str]) -> Any:
        arguments = {"params": form} if path.endswith("values") else {"data": form}
        method = "GET" if path.endswith("values") else "POST"
        status, response = await self._request(method, path, **arguments)
        if status != 200:
            self._refused(path, status, response)
        try:
            return json.loads(response)["data"]
        except (ValueError, KeyError) as error:
            raise ToolError(
                f"{self.address}{path}: unexpected response, is this a Prometheus server?"
            ) from error

    async def _request(self, method: str, path: str, **arguments: Any) -> tuple[int, bytes]:
        if self._session is None:
            self._session = aiohttp.ClientSession(headers=self.headers)
        try:
            url = self.address.rstrip("/") + path
            async with self._session.request(method, url, **arguments) as response:
                return response.status, await response.read()
        except aiohttp.ClientError as error:
            raise ToolError(f"{self.address}: {error}") from error

    def _refused(self, path: str, status: int, response: bytes) -> None:
        text = response.decode(errors="replace").strip()
        if _TOO_MUCH.search(text):
            raise TooMuchError(text)
        raise ToolError(f"{self.address}{path}: {status} {text[:300]}")


async def windows(
    server: PrometheusServer, selectors: Sequence[Selector], start: int, end: int, *, by_query: bool
) -> AsyncIterator[tuple[int, ImportBatch]]:
    """Batches in time order, each with the milliseconds that it completes."""
    first = start
    while first < end:
        last = min(first - first % HOUR_MS + HOUR_MS, end)
        chosen = selectors or [EVERYTHING]
        if by_query and not selectors:
            chosen = [_named(name) for name in await server.metrics(first, last)]
        for selector in chosen:
            async for batch in _window(server, selector, first, last, by_query=by_query):
                yield 0, batch
        yield last - first, ImportBatch()
        first = last


async def _window(
    server: PrometheusServer, selector: Selector, start: int, end: int, *, by_query: bool
) -> AsyncIterator[ImportBatch]:
    """Halves the window until the server accepts it."""
    try:
        fetch = server.query if by_query else server.read
        yield await fetch(selector, start, end)
    except TooMuchError as error:
        if end - start <= _MIN_WINDOW:
            raise ToolError(
                f"{server.address}: {error}; select fewer series with --match"
            ) from error
        middle = (start + end) // 2
        for low, high in ((start, middle), (middle, end)):
            async for batch in _window(server, selector, low, high, by_query=by_query):
                yield batch


def _named(name: str) -> Selector:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return Selector(f'{{__name__="{quoted}"}}', (Matcher("__name__", "=", name),))
