"""The frame of the commands `top` and `explain`: settings from the command line, and exit codes."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from exporter.pages.status.level import Level
from exporter.settings.config import ExporterSettings
from exporter.settings.options import options_of
from exporter.terminal.top_flags import INTERVAL_SECONDS
from streamgauge.serving.logs import LogLevel, configure_logs
from streamgauge.serving.settings.flags import interval_of, parse
from streamgauge.serving.settings.loader import SettingsError

NO_RESPONSE: Final = 3
_EXIT_CODES: Final = {Level.OK: 0, Level.WARNING: 1, Level.CRITICAL: 2}

# Gets the settings, the seconds between two polls, and the command's own flags.
Run = Callable[[ExporterSettings, float, dict[str, Any]], Awaitable[int]]


def run_command(
    argv: Sequence[str],
    parser: argparse.ArgumentParser,
    own: Sequence[str],
    run: Run,
    *,
    interrupted: int,
) -> int:
    """`own`: flags that are no settings of the exporter; `interrupted`: the exit code of Ctrl-C."""
    try:
        given = parse(argv, parser)
        flags = {name: given.pop(name) for name in own}
        every = given.pop("every")
        seconds = INTERVAL_SECONDS if every is None else interval_of("--every", every)
        settings = options_of(given, os.environ).load()
        # The output shows failures; log lines would tear it.
        configure_logs(settings.log.format, LogLevel.ERROR)
        return asyncio.run(_awaited(run(settings, seconds, flags)))
    except SettingsError as error:
        sys.stderr.write(f"streamgauge: {error}\n")
        return NO_RESPONSE
    except KeyboardInterrupt:
        return interrupted


def exit_code(level: Level) -> int:
    return _EXIT_CODES[level]


async def _awaited(result: Awaitable[int]) -> int:
    return await result
