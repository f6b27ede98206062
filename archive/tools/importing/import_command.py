"""`streamgauge archive import`: imports samples of a Prometheus server or an OpenMetrics file."""

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

# Prometheus' default retention.
_PROMETHEUS_DAYS: Final = 15


@dataclass(frozen=True, slots=True)
class _Files:
    """Files that are opened before the event loop starts."""

    headers: dict[str, str]
    lines: TextIO | None = None
    size: int = 0


def run(args: Namespace, progress: Progress) -> int:
    headers = _headers(args)
    if args.prometheus:
        return asyncio.run(_run(args, _Files(headers), progress))
    with _lines(args) as (lines, size):
        return asyncio.run(_run(args, _Files(headers, lines, size), progress))


async def _run(args: Namespace, files: _Files, progress: Progress) -> int:
    target = await asyncio.to_thread(_target, args, files, progress)
    try:
        count = await _copy(args, files, target, progress)
        await target.finish()
    finally:
        await target.close()
    what = "messages" if args.opaque else "samples"
    sys.stderr.write(f"imported {count:,} {what} into {shown(args.place)}\n")
    return 0


def _target(args: Namespace, files: _Files, progress: Progress) -> FolderTarget | ServerTarget:
    if args.place.startswith(("http://", "https://")):
        if args.store:
            raise ToolError(
                "--store: not allowed with a running archive, which has its own setting"
            )
        # The credentials are for the Prometheus server, or else for the archive.
        return ServerTarget(args.place, {} if args.prometheus else files.headers)
    return FolderTarget(args.place, args.store, progress)


async def _copy(args: Namespace, files: _Files, target: ImportTarget, progress: Progress) -> int:
    if files.lines is not None:
        return await _copy_file(args, files.lines, files.size, target, progress)
    server = PrometheusServer(args.prometheus, files.headers, args.replica_label)
    now = time.time_ns() // 1_000_000
    start, end = span(args.since, args.until, (now - _PROMETHEUS_DAYS * DAY_MS, now))
    start, end = max(start, 0), min(end, LATEST_TIME + 1)  # the range of the archive
    selectors = [parse_selector(text) for text in args.match]
    samples = 0
    try:
        by_query = args.via == "query" or not (args.via or await server.has_remote_read())
        with progress.work("importing", end - start) as step:
            async for done, batch in windows(server, selectors, start, end, by_query=by_query):
                await target.add(batch)
                samples += len(batch)
                step(done)
    finally:
        await server.close()
    return samples


async def _copy_file(
    args: Namespace, lines: TextIO, size: int, target: ImportTarget, progress: Progress
) -> int:
    for flag, given in (("--match", args.match), ("--from", args.since), ("--to", args.until)):
        if given:
            raise ToolError(f"{flag}: only for a server, a file is imported completely")
    count = 0
    with progress.work("importing", size) as step:
        async for batch in _batches(args, lines, step):
            await target.add(batch)
            count += len(batch.messages) if args.opaque else len(batch)
    return count


async def _batches(args: Namespace, lines: TextIO, step: Step) -> AsyncIterator[ImportBatch]:
    reads = OpaqueReader if args.opaque else OpenMetricsReader
    reader = reads(args.opaque or args.openmetrics, args.replica_label)
    batches = reader.batches(lines, step)
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        yield batch


@contextlib.contextmanager
def _lines(args: Namespace) -> Iterator[tuple[TextIO, int]]:
    flag, path = ("--opaque", args.opaque) if args.opaque else ("--openmetrics", args.openmetrics)
    # A label may contain a carriage return: only a line feed ends a line.
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


def _headers(args: Namespace) -> dict[str, str]:
    if args.token_file:
        return {"Authorization": f"Bearer {_secret('--token-file', args.token_file)}"}
    if args.user:
        password = _secret("--password-file", args.password_file) if args.password_file else ""
        return {"Authorization": aiohttp.BasicAuth(args.user, password).encode()}
    return {}


def _secret(flag: str, path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise ToolError(f"{flag}: {path}: {error.strerror}") from error
