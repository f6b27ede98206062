"""The command `streamgauge audit`."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Iterator, Sequence

from exporter.audit.command.flags import AuditRequest, read_request
from exporter.audit.command.parser import OutputFormat
from exporter.audit.command.system_poll import AuditOptions, NoResponseError, SystemAudit
from exporter.audit.history.reader import HistoryError, HistoryReader
from exporter.audit.history.rollup_history import RollupHistory
from exporter.audit.output.json_format import as_json
from exporter.audit.output.junit_format import junit
from exporter.audit.output.markdown_format import markdown
from exporter.audit.output.system_audit import AuditedSystem, fails
from exporter.audit.output.table_format import table
from exporter.audit.registry import selected_checks
from exporter.audit.report import FailedSystem
from exporter.main import GC_THRESHOLDS
from exporter.settings.config import ExporterSettings, SystemSettings
from streamgauge.serving.log_escape import one_line
from streamgauge.serving.logs import LogLevel, configure_logs
from streamgauge.serving.settings.loader import SettingsError

# Longer than in the exporter: no next poll is due.
_POLL_TIMEOUT_SECONDS = 30.0


def main(argv: Sequence[str]) -> int:
    try:
        request = read_request(argv, os.environ)
        settings = request.options.load()
        gc.set_threshold(*GC_THRESHOLDS)
        # Failures are printed at the end, so the log would repeat them.
        debug = settings.log.level is LogLevel.DEBUG
        configure_logs(settings.log.format, LogLevel.DEBUG if debug else LogLevel.ERROR)
        audits, failed = asyncio.run(_audit(settings, request))
        _print(_output(audits, failed, request))
        return _exit_code(audits, failed, request)
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
) -> tuple[list[AuditedSystem], list[FailedSystem]]:
    """The audited systems, and those for which no request succeeded."""
    systems = [await _system_audit(settings, system, request) for system in settings.systems]
    results = await asyncio.gather(*(one.audit() for one in systems), return_exceptions=True)
    audits: list[AuditedSystem] = []
    failed: list[FailedSystem] = []
    for one, result in zip(systems, results, strict=True):
        if isinstance(result, AuditedSystem):
            audits.append(result)
        elif isinstance(result, NoResponseError):
            failed.append(FailedSystem(one.system.label, one.system.source, str(result)))
        else:
            raise result
    return audits, failed


async def _system_audit(
    settings: ExporterSettings, system: SystemSettings, request: AuditRequest
) -> SystemAudit:
    timeout = system.timeout or settings.timeout
    options = AuditOptions(
        checks=selected_checks(request.only, request.skip),
        settings=system.audit.pure(),
        timeout=timeout if request.timeout_given else max(timeout, _POLL_TIMEOUT_SECONDS),
        watch=request.watch,
        history=await asyncio.to_thread(_history, system, request),
        sample_messages=request.sample_messages,
        details=bool(request.only),
    )
    return SystemAudit(system, options, lambda text: _progress(f"{system.label}: {text}"))


def _history(system: SystemSettings, request: AuditRequest) -> RollupHistory | None:
    location = request.rollups or system.audit.rollups
    return None if location is None else HistoryReader(location, system.label).read()


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"{text} ...\n")


def _output(
    audits: Sequence[AuditedSystem], failed: Sequence[FailedSystem], request: AuditRequest
) -> str:
    match request.format:
        case OutputFormat.JSON:
            return as_json(audits, request.severity, failed)
        case OutputFormat.JUNIT:
            return junit(audits, request.severity, request.fail_on, failed)
        case OutputFormat.MARKDOWN:
            return markdown(audits, request.severity, failed)
    return table(audits, request.severity, failed)


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe. Without this, Python prints an error when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_code(
    audits: Sequence[AuditedSystem], failed: Sequence[FailedSystem], request: AuditRequest
) -> int:
    incomplete = [
        *(f"{one.system}: {one.reason}" for one in failed),
        *(line for one in audits for line in _incomplete(one)),
    ]
    for line in incomplete:
        sys.stderr.write(f"streamgauge: {one_line(line)}\n")
    if fails(audits, request.fail_on):
        return 1
    return 2 if incomplete else 0


def _incomplete(audited: AuditedSystem) -> Iterator[str]:
    """Data that was not fetched and checks that failed."""
    report = audited.report
    yield from (f"{report.system}: incomplete: {gap}" for gap in audited.gaps)
    for one in report.broken():
        yield f"{report.system}: check {one.check.code}: {one.reason}"
