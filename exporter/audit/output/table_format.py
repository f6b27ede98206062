"""The report as plain text of 80 columns. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from exporter.audit.check import Check
from exporter.audit.output.printed_commands import printed_commands
from exporter.audit.output.system_audit import AuditedSystem
from exporter.audit.report import FailedSystem, ReportedFinding
from exporter.audit.severity import Severity
from streamgauge.serving.log_escape import one_line

WIDTH = 80
# The other formats list all findings.
MAX_PER_CHECK = 10


def table(
    audits: Iterable[AuditedSystem], min_severity: Severity, failed: Iterable[FailedSystem] = ()
) -> str:
    lines = [line for one in audits for line in _lines(one, min_severity)]
    lines += [line for one in failed for line in _failed_system(one)]
    return "\n".join(lines) + "\n"


def _failed_system(one: FailedSystem) -> list[str]:
    text = f"{one.system} ({one.source}): FAILED, nothing was evaluated: {one.reason}"
    return _wrapped(text, "", "  ")


def _lines(audited: AuditedSystem, min_severity: Severity) -> Iterator[str]:
    report = audited.report
    yield (
        f"{one_line(report.system)} ({audited.source}): {_count(audited.streams, 'stream')}, "
        f"{_count(audited.consumers, 'consumer')}, {_count(report.checks, 'check')}"
    )
    counts = ", ".join(f"{number:,} {severity}" for severity, number in report.counts().items())
    yield f"{counts}; {report.muted:,} muted"
    for gap in audited.gaps:
        yield from _wrapped(f"INCOMPLETE: {gap}", "", "  ")
    for check, findings in audited.shown(min_severity).items():
        yield ""
        yield from _check(audited, check, findings)
    yield from _appendix(audited, min_severity)


def _check(
    audited: AuditedSystem, check: Check, findings: Sequence[ReportedFinding]
) -> Iterator[str]:
    yield from _wrapped(f"{findings[0].severity.upper()}  {check.code}: {check.title}", "", "  ")
    for one in findings[:MAX_PER_CHECK]:
        yield from _wrapped(f"{audited.named(one)}: {one.finding.evidence}", "  - ", "    ")
    if len(findings) > MAX_PER_CHECK:
        yield f"  - and {len(findings) - MAX_PER_CHECK:,} more; --format json lists all"
    yield from _wrapped(check.why, "  ", "  ")
    yield from _wrapped(f"Remedy: {check.remedy}", "  ", "  ")
    # Commands are not wrapped, so that they can be copied.
    yield from (f"    {command}" for command in printed_commands(check, findings[0].finding))


def _appendix(audited: AuditedSystem, min_severity: Severity) -> Iterator[str]:
    if defaults := audited.defaults(min_severity):
        yield ""
        yield from _wrapped(f"Server defaults: {defaults}. For details: --only CODE", "", "  ")
    if muted := audited.muted():
        yield from ("", "Muted")
        for one in muted:
            text = f"{audited.named(one)}: {one.check.code}, by {one.muted}"
            yield from _wrapped(text, "  - ", "    ")
    if unknown_ignores := audited.report.unknown_ignores:
        yield from ("", "Ignored codes that match no check")
        for entry in unknown_ignores:
            yield from _wrapped(f"{entry.code}, in {entry.subject}", "  - ", "    ")
    if not_evaluated := audited.not_evaluated_by_reason():
        yield from ("", "Not evaluated")
        for reason, checks in not_evaluated.items():
            codes = ", ".join(
                f"{one.check.code} ({one.subjects:,})" if one.subjects else one.check.code
                for one in checks
            )
            yield from _wrapped(f"{reason}: {codes}", "  - ", "    ")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    """Escaped: names and metadata, which clients choose, may hold terminal control characters."""
    return textwrap.wrap(
        one_line(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
