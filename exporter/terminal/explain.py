"""The command `streamgauge explain`."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence

from exporter.pages.status.level import Level
from exporter.pages.status.view_builder import consumer_view
from exporter.polling.loop import SystemPoller
from exporter.settings.config import ExporterSettings
from exporter.settings.options import options_of
from exporter.terminal.direct import direct_polls
from exporter.terminal.explain_flags import parser
from exporter.terminal.explanation import explanation, level_of, not_found
from exporter.terminal.top import NO_RESPONSE, interval_seconds
from streamgauge.serving.logs import LogLevel, configure_logs
from streamgauge.serving.settings.flags import parse
from streamgauge.serving.settings.loader import SettingsError

_WIDTH = 80


def main(argv: Sequence[str]) -> int:
    try:
        given = parse(argv, parser())
        stream, consumer = given.pop("stream"), given.pop("consumer")
        every = interval_seconds(given.pop("every"))
        settings = options_of(given, os.environ).load()
        configure_logs(settings.log.format, LogLevel.ERROR)
        return asyncio.run(_explain(settings, stream, consumer, every))
    except SettingsError as error:
        sys.stderr.write(f"streamgauge: {error}\n")
        return NO_RESPONSE
    except KeyboardInterrupt:
        return 130


async def _explain(settings: ExporterSettings, stream: str, consumer: str, every: float) -> int:
    async with direct_polls(settings, every) as polls:
        await polls.poll()
        if sys.stderr.isatty():
            sys.stderr.write(f"polling again in {every:g} s ...\n")
        await asyncio.sleep(every)
        await polls.poll()
        results = [_of_system(poller, stream, consumer) for poller in polls.pollers]
    return max(results, default=NO_RESPONSE)


def _of_system(poller: SystemPoller, stream: str, consumer: str) -> int:
    """Prints every match: several accounts may have the same names."""
    state, now = poller.state, time.time()
    if state.snapshot is None:
        failed = [each.outcome for each in state.requests.values() if not each.outcome.ok]
        reason = failed[0].detail if failed else "no response"
        sys.stderr.write(f"streamgauge: {poller.system}: {reason}\n")
        return NO_RESPONSE
    found = [r for r in state.snapshot.consumers if (r.stream, r.name) == (stream, consumer)]
    if not found:
        reason = not_found(stream, consumer, state.snapshot.consumers)
        sys.stderr.write(f"streamgauge: {poller.system}: {reason}\n")
        return NO_RESPONSE
    level = Level.OK
    for row in found:
        view = consumer_view(row, state.signals, now)
        signals = state.signals.consumers.get((row.account, row.stream, row.name))
        sys.stdout.write("\n".join(_wrapped(explanation(view, signals, now))) + "\n")
        level = max(level, level_of(view, signals))
    return int(level)


def _wrapped(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield from textwrap.wrap(
            line, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
