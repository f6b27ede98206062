"""The command `streamgauge explain`."""

from __future__ import annotations

import asyncio
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from exporter.pages.status.level import Level
from exporter.pages.status.problems import Facts, consumer_problems, level_of
from exporter.polling.loop import SystemPoller
from exporter.settings.config import ExporterSettings
from exporter.terminal.command import NO_RESPONSE, exit_code, run_command
from exporter.terminal.direct import direct_polls
from exporter.terminal.explain_flags import parser
from exporter.terminal.explanation import explanation, not_found

_WIDTH = 80


def main(argv: Sequence[str]) -> int:
    return run_command(argv, parser(), ("stream", "consumer"), _explain, interrupted=130)


async def _explain(settings: ExporterSettings, every: float, names: dict[str, Any]) -> int:
    async with direct_polls(settings, every) as polls:
        await polls.poll()
        if sys.stderr.isatty():
            sys.stderr.write(f"polling again in {every:g} s ...\n")
        await asyncio.sleep(every)
        await polls.poll()
        levels = [_of_system(poller, **names) for poller in polls.pollers]
    return code_of(levels)


def code_of(levels: Iterable[Level | None]) -> int:
    """None: the consumer was not found in that system. One system that has it is enough."""
    found = [level for level in levels if level is not None]
    return exit_code(max(found)) if found else NO_RESPONSE


def _of_system(poller: SystemPoller, stream: str, consumer: str) -> Level | None:
    """Prints every match: several accounts may have the same names."""
    state = poller.state
    if state.snapshot is None:
        failed = [each.outcome for each in state.requests.values() if not each.outcome.ok]
        reason = failed[0].detail if failed else "no response"
        sys.stderr.write(f"streamgauge: {poller.system}: {reason}\n")
        return None
    found = [r for r in state.snapshot.consumers if (r.stream, r.name) == (stream, consumer)]
    if not found:
        reason = not_found(stream, consumer, state.snapshot.consumers)
        sys.stderr.write(f"streamgauge: {poller.system}: {reason}\n")
        return None
    level, facts = Level.OK, Facts.of(state.signals, state.servers, time.time())
    for row in found:
        sys.stdout.write("\n".join(_wrapped(explanation(row, facts))) + "\n")
        level = max(level, level_of(consumer_problems(row, facts)))
    return level


def _wrapped(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield from textwrap.wrap(
            line, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
