"""The command `streamgauge top`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from exporter.errors import RequestError
from exporter.pages.status.report import UnwellReport
from exporter.settings.config import ExporterSettings
from exporter.terminal.command import NO_RESPONSE, exit_code, run_command
from exporter.terminal.direct import direct_polls
from exporter.terminal.remote import RemoteExporter
from exporter.terminal.table import print_report, rendered
from exporter.terminal.top_flags import parser
from streamgauge.serving.settings.loader import SettingsError

Refresh = Callable[[], Awaitable[UnwellReport]]


def main(argv: Sequence[str]) -> int:
    return run_command(argv, parser(), ("url", "once"), _run, interrupted=0)


async def _run(settings: ExporterSettings, every: float, flags: dict[str, Any]) -> int:
    once = bool(flags["once"])
    async with _source(settings, flags["url"], every, once=once) as refresh:
        if once:
            return await _print_once(refresh)
        await _show(refresh, every)
    return 0


@asynccontextmanager
async def _source(
    settings: ExporterSettings, url: str | None, every: float, *, once: bool
) -> AsyncIterator[Refresh]:
    if url is not None:
        if not url.startswith(("http://", "https://")):
            raise SettingsError("--url", "", "is not an address like http://HOST:7778")
        yield RemoteExporter(url, settings.systems[0]).report
        return
    async with direct_polls(settings, every) as polls:

        async def refresh() -> UnwellReport:
            await polls.poll()
            return await polls.report()

        if once:  # verdicts need two polls
            await polls.poll()
            await asyncio.sleep(every)
        yield refresh


async def _print_once(refresh: Refresh) -> int:
    try:
        report = await refresh()
    except RequestError as error:
        sys.stderr.write(f"streamgauge: {error.detail}\n")
        return NO_RESPONSE
    print_report(report, _console())
    return exit_code(report.level) if report.responded else NO_RESPONSE


async def _show(refresh: Refresh, every: float) -> None:
    console = _console()
    with Live(Text("waiting for the first response"), console=console, screen=True) as live:
        while True:
            try:
                live.update(rendered(await refresh(), console.size.height), refresh=True)
            except RequestError as error:
                live.update(Text(error.detail, style="bold red"), refresh=True)
            await asyncio.sleep(every)


def _console() -> Console:
    """80 columns where the output is no terminal."""
    width: dict[str, Any] = {} if sys.stdout.isatty() else {"width": 80}
    return Console(highlight=False, **width)
