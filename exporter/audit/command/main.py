"""`streamgauge audit`: from the command line to a report and an exit code."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Iterator, Sequence

from exporter.audit.command.flags import AuditRequest, read_request
from exporter.audit.command.parser import OutputFormat
from exporter.audit.command.system_poll import LookOptions, NoResponseError, SystemLook
from exporter.audit.history.queries import RollupHistory
from exporter.audit.history.reader import HistoryError, HistoryReader
from exporter.audit.output.json_format import as_json
from exporter.audit.output.junit_format import junit
from exporter.audit.output.markdown_format import markdown
from exporter.audit.output.system_audit import Audited, fails
from exporter.audit.output.table_format import table
from exporter.audit.registry import chosen
from exporter.audit.report import Unanswered
from exporter.main import GC_THRESHOLDS
from exporter.settings.config import ExporterSettings, SystemSettings
from streamgauge.serving.log_escape import one_line
from streamgauge.serving.logs import LogLevel, configure_logs
from streamgauge.serving.settings.loader import SettingsError

# Nobody waits for the next poll here, so a slow system may take longer than in the exporter.
_SECONDS_PER_LOOK = 30.0


def main(argv: Sequence[str]) -> int:
    try:
        request = read_request(argv, os.environ)
        settings = request.options.load()
        gc.set_threshold(*GC_THRESHOLDS)
        # What failed is told in plain words at the end; the log would only say it twice.
        debug = settings.log.level is LogLevel.DEBUG
        configure_logs(settings.log.format, LogLevel.DEBUG if debug else LogLevel.ERROR)
        audits, unanswered = asyncio.run(_audit(settings, request))
        _print(_output(audits, unanswered, request))
        return _exit_code(audits, unanswered, request)
    except SettingsError as error:
        sys.stderr.write(f"streamgauge: {error}\n")
        return 2
    except HistoryError as error:
        sys.stderr.write(f"streamgauge: --rollups: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


async def _audit(
    settings: ExporterSettings, request: AuditRequest
) -> tuple[list[Audited], list[Unanswered]]:
    """What was found, and the systems that answered nothing at all."""
    looks = [await _look(settings, system, request) for system in settings.systems]
    results = await asyncio.gather(*(look.audit() for look in looks), return_exceptions=True)
    audits: list[Audited] = []
    unanswered: list[Unanswered] = []
    for look, result in zip(looks, results, strict=True):
        if isinstance(result, Audited):
            audits.append(result)
        elif isinstance(result, NoResponseError):
            unanswered.append(Unanswered(look.system.name, look.system.source, str(result)))
        else:
            raise result
    return audits, unanswered


async def _look(
    settings: ExporterSettings, system: SystemSettings, request: AuditRequest
) -> SystemLook:
    timeout = system.timeout or settings.timeout
    options = LookOptions(
        checks=chosen(request.only, request.skip),
        settings=system.audit.pure(),
        timeout=timeout if request.timeout_given else max(timeout, _SECONDS_PER_LOOK),
        watch=request.watch,
        history=await asyncio.to_thread(_history, system, request),
        sample_messages=request.sample_messages,
    )
    return SystemLook(system, options, lambda text: _progress(f"{system.name}: {text}"))


def _history(system: SystemSettings, request: AuditRequest) -> RollupHistory | None:
    place = request.rollups or system.audit.rollups
    return None if place is None else HistoryReader(place, system.name).read()


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"{text} ...\n")


def _output(
    audits: Sequence[Audited], unanswered: Sequence[Unanswered], request: AuditRequest
) -> str:
    match request.format:
        case OutputFormat.JSON:
            return as_json(audits, request.severity, unanswered)
        case OutputFormat.JUNIT:
            return junit(audits, request.severity, request.fail_on, unanswered)
        case OutputFormat.MARKDOWN:
            return markdown(audits, request.severity, unanswered)
    return table(audits, request.severity, unanswered)


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read it has seen enough; without this Python would complain at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_code(
    audits: Sequence[Audited], unanswered: Sequence[Unanswered], request: AuditRequest
) -> int:
    incomplete = [
        *(f"{one.system}: {one.reason}" for one in unanswered),
        *(line for one in audits for line in _incomplete(one)),
    ]
    for line in incomplete:
        sys.stderr.write(f"streamgauge: {one_line(line)}\n")
    if fails(audits, request.fail_on):
        return 1
    return 2 if incomplete else 0


def _incomplete(audited: Audited) -> Iterator[str]:
    """What was not read or not judged although it was asked for."""
    report = audited.report
    yield from (f"{report.system}: not answered: {gap}" for gap in audited.gaps)
    for one in report.broken():
        yield f"{report.system}: check {one.check.code} {one.reason}"
