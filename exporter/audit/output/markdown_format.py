"""A report for issues, wikis and pull requests. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from exporter.audit.check import Check, Severity
from exporter.audit.output.printed_commands import printed_commands
from exporter.audit.output.system_audit import Audited
from exporter.audit.report import Told, Unanswered
from streamgauge.serving.log_escape import one_line


def markdown(
    audits: Iterable[Audited], least: Severity, unanswered: Iterable[Unanswered] = ()
) -> str:
    lines = [line for one in audits for line in _lines(one, least)]
    lines += [line for silent in unanswered for line in _silent(silent)]
    return "\n".join(lines) + "\n"


def _silent(one: Unanswered) -> Iterator[str]:
    yield from (f"# Audit of {_plain(one.system)}", "")
    yield from (f"**Not answered, nothing was judged:** {_plain(one.reason)}", "")


def _lines(audited: Audited, least: Severity) -> Iterator[str]:
    report = audited.report
    counts = ", ".join(f"{number:,} {severity}" for severity, number in report.counts().items())
    yield from (f"# Audit of {_plain(report.system)}", "")
    yield f"{audited.streams:,} streams, {audited.consumers:,} consumers, {report.checks} checks: {counts}, {report.muted:,} muted."
    yield ""
    for gap in audited.gaps:
        yield from (f"**Not answered:** {_plain(gap)}", "")
    for check, told in audited.shown(least).items():
        yield from _check(audited, check, told)
    yield from _rest(audited)


def _check(audited: Audited, check: Check, told: Sequence[Told]) -> Iterator[str]:
    yield from (f"## {check.severity}: {check.title} (`{check.code}`)", "", check.why, "")
    yield from ("| where | what |", "| --- | --- |")
    for one in told:
        yield f"| {_cell(audited.named(one))} | {_cell(one.finding.evidence)} |"
    yield from ("", f"To do: {check.remedy}", "")
    if commands := printed_commands(check, told[0].finding):
        yield from ("```sh", *commands, "```", "")


def _rest(audited: Audited) -> Iterator[str]:
    if muted := audited.muted():
        yield from ("## Muted", "")
        for one in muted:
            yield f"- {_plain(audited.named(one))}: `{one.check.code}`, by {one.muted}"
        yield ""
    if strays := audited.report.strays:
        yield from ("## Mutes that name no check", "")
        yield from (f"- {_plain(stray.code)}, of {_plain(stray.subject)}" for stray in strays)
        yield ""
    if lacks := audited.lacks():
        yield from ("## Not judged", "")
        for reason, checks in lacks.items():
            codes = ", ".join(f"`{one.check.code}`" for one in checks)
            yield f"- {_plain(reason)}: {codes}"
        yield ""


def _plain(text: str) -> str:
    """Names come from whoever made the stream: they must become neither markup nor commands to
    the terminal that shows them."""
    text = one_line(text)
    for sign in "\\`*_[]<>":
        text = text.replace(sign, "\\" + sign)
    return text


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")
