"""Take in samples of a Prometheus server or of an OpenMetrics file: what an outage kept away, or
the time before the archive. What is there already is not doubled, so it may be run again."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

import aiohttp

from archive.progress import Progress, Step
from archive.tables.schema import DAY_MS, LATEST_TIME
from archive.tables.storage import shown
from archive.tools.arguments import span
from archive.tools.errors import ToolError
from archive.tools.importing.batch import ImportBatch, ImportTarget
from archive.tools.importing.opaque import OpaqueReader
from archive.tools.importing.openmetrics import OpenMetricsReader
from archive.tools.importing.prometheus import PrometheusServer, windows
from archive.tools.importing.targets import FolderTarget, ServerTarget
from archive.tools.series_selector import parse_selector

# What Prometheus keeps when nobody tells it otherwise.
_PROMETHEUS_DAYS: Final = 15


@dataclass(frozen=True, slots=True)
class _Files:
    """What was read or opened before anything waits for anything."""

    headers: dict[str, str]
    lines: TextIO | None = None
    size: int = 0


def run(words: Namespace, progress: Progress) -> int:
    headers = _headers(words)
    if words.prometheus:
        return asyncio.run(_run(words, _Files(headers), progress))
    with _lines(words) as (lines, size):
        return asyncio.run(_run(words, _Files(headers, lines, size), progress))


async def _run(words: Namespace, files: _Files, progress: Progress) -> int:
    target = await asyncio.to_thread(_target, words, files, progress)
    try:
        count = await _copy(words, files, target, progress)
        await target.finish()
    finally:
        await target.close()
    what = "messages" if words.opaque else "samples"
    sys.stderr.write(f"imported {count:,} {what} into {shown(words.place)}\n")
    return 0


def _target(words: Namespace, files: _Files, progress: Progress) -> FolderTarget | ServerTarget:
    if words.place.startswith(("http://", "https://")):
        if words.store:
            raise ToolError("--store: a running archive knows its own")
        # The credentials are for the one server that was named, which may be the archive.
        return ServerTarget(words.place, {} if words.prometheus else files.headers)
    return FolderTarget(words.place, words.store, progress)


async def _copy(words: Namespace, files: _Files, target: ImportTarget, progress: Progress) -> int:
    if files.lines is not None:
        return await _copy_file(words, files.lines, files.size, target, progress)
    server = PrometheusServer(words.prometheus, files.headers, words.replica_label)
    now = time.time_ns() // 1_000_000
    start, end = span(words.since, words.until, (now - _PROMETHEUS_DAYS * DAY_MS, now))
    start, end = max(start, 0), min(end, LATEST_TIME + 1)  # what a day can hold
    selectors = [parse_selector(text) for text in words.match]
    samples = 0
    try:
        by_query = words.via == "query" or not (words.via or await server.has_remote_read())
        with progress.work("importing", end - start) as step:
            async for done, batch in windows(server, selectors, start, end, by_query=by_query):
                await target.add(batch)
                samples += len(batch)
                step(done)
    finally:
        await server.close()
    return samples


async def _copy_file(
    words: Namespace, lines: TextIO, size: int, target: ImportTarget, progress: Progress
) -> int:
    for flag, given in (("--match", words.match), ("--from", words.since), ("--to", words.until)):
        if given:
            raise ToolError(f"{flag}: chooses from a server, a file is taken whole")
    count = 0
    with progress.work("importing", size) as step:
        async for batch in _batches(words, lines, step):
            await target.add(batch)
            count += len(batch.messages) if words.opaque else len(batch)
    return count


async def _batches(words: Namespace, lines: TextIO, step: Step) -> AsyncIterator[ImportBatch]:
    reads = OpaqueReader if words.opaque else OpenMetricsReader
    reader = reads(words.opaque or words.openmetrics, words.replica_label)
    batches = reader.batches(lines, step)
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        yield batch


@contextlib.contextmanager
def _lines(words: Namespace) -> Iterator[tuple[TextIO, int]]:
    flag, path = (
        ("--opaque", words.opaque) if words.opaque else ("--openmetrics", words.openmetrics)
    )
    # A carriage return may stand in a label: only a line feed ends a line.
    if path == "-":
        with open(sys.stdin.fileno(), encoding="utf-8", newline="\n", closefd=False) as stdin:
            yield stdin, 0
        return
    with _opened(flag, path) as file:
        try:
            yield file, Path(path).stat().st_size
        except UnicodeDecodeError as error:
            raise ToolError(f"{flag}: {path}: is not UTF-8 ({error})") from error


def _opened(flag: str, path: str) -> TextIO:
    try:
        return Path(path).open(encoding="utf-8", newline="\n")
    except OSError as error:
        raise ToolError(f"{flag}: {path}: {error.strerror}") from error


def _headers(words: Namespace) -> dict[str, str]:
    if words.token_file:
        return {"Authorization": f"Bearer {_secret('--token-file', words.token_file)}"}
    if words.user:
        password = _secret("--password-file", words.password_file) if words.password_file else ""
        return {"Authorization": aiohttp.BasicAuth(words.user, password).encode()}
    return {}


def _secret(flag: str, path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise ToolError(f"{flag}: {path}: {error.strerror}") from error
