"""The report as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from exporter.audit.check import Check
from exporter.audit.output.printed_commands import printed_commands
from exporter.audit.output.system_audit import AuditedSystem
from exporter.audit.report import FailedSystem, ReportedFinding
from exporter.audit.severity import Severity
from streamgauge.serving.log_escape import one_line


def markdown(
    audits: Iterable[AuditedSystem], min_severity: Severity, failed: Iterable[FailedSystem] = ()
) -> str:
    lines = [line for one in audits for line in _lines(one, min_severity)]
    lines += [line for one in failed for line in _failed_system(one)]
    return "\n".join(lines) + "\n"


def _failed_system(one: FailedSystem) -> Iterator[str]:
    yield from (f"# Audit of {_plain(one.system)}", "")
    yield from (f"**Failed, nothing was evaluated:** {_plain(one.reason)}", "")


def _lines(audited: AuditedSystem, min_severity: Severity) -> Iterator[str]:
    report = audited.report
    counts = ", ".join(f"{number:,} {severity}" for severity, number in report.counts().items())
    yield from (f"# Audit of {_plain(report.system)}", "")
    yield f"{audited.streams:,} streams, {audited.consumers:,} consumers, {report.checks} checks: {counts}, {report.muted:,} muted."
    yield ""
    for gap in audited.gaps:
        yield from (f"**Incomplete:** {_plain(gap)}", "")
    for check, findings in audited.shown(min_severity).items():
        yield from _check(audited, check, findings)
    yield from _appendix(audited, min_severity)


def _check(
    audited: AuditedSystem, check: Check, findings: Sequence[ReportedFinding]
) -> Iterator[str]:
    yield from (f"## {findings[0].severity}: {check.title} (`{check.code}`)", "", check.why, "")
    yield from ("| asset | evidence |", "| --- | --- |")
    for one in findings:
        yield f"| {_cell(audited.named(one))} | {_cell(one.finding.evidence)} |"
    yield from ("", f"Remedy: {check.remedy}", "")
    if commands := printed_commands(check, findings[0].finding):
        yield from ("```sh", *commands, "```", "")


def _appendix(audited: AuditedSystem, min_severity: Severity) -> Iterator[str]:
    if defaults := audited.defaults(min_severity):
        yield from ("## Server defaults", "", f"{defaults}. For details: `--only` CODE.", "")
    if muted := audited.muted():
        yield from ("## Muted", "")
        for one in muted:
            yield f"- {_plain(audited.named(one))}: `{one.check.code}`, by {one.muted}"
        yield ""
    if unknown_ignores := audited.report.unknown_ignores:
        yield from ("## Ignored codes that match no check", "")
        yield from (
            f"- {_plain(entry.code)}, in {_plain(entry.subject)}" for entry in unknown_ignores
        )
        yield ""
    if not_evaluated := audited.not_evaluated_by_reason():
        yield from ("## Not evaluated", "")
        for reason, checks in not_evaluated.items():
            codes = ", ".join(f"`{one.check.code}`" for one in checks)
            yield f"- {_plain(reason)}: {codes}"
        yield ""


def _plain(text: str) -> str:
    """Escapes names, which clients choose: no markup and no terminal control characters."""
    text = one_line(text)
    for sign in "\\`*_[]<>":
        text = text.replace(sign, "\\" + sign)
    return text


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")
