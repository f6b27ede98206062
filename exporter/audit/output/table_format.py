"""A report for people: 80 columns of plain text. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from exporter.audit.check import Check, Severity
from exporter.audit.output.printed_commands import printed_commands
from exporter.audit.output.system_audit import Audited
from exporter.audit.report import Told, Unanswered
from streamgauge.serving.log_escape import one_line

WIDTH = 80
# A check that a thousand consumers fail is one thing to mend; the other formats list them all.
MOST_PER_CHECK = 10


def table(audits: Iterable[Audited], least: Severity, unanswered: Iterable[Unanswered] = ()) -> str:
    lines = [line for one in audits for line in _lines(one, least)]
    lines += [line for silent in unanswered for line in _silent(silent)]
    return "\n".join(lines) + "\n"


def _silent(one: Unanswered) -> list[str]:
    text = f"{one.system} ({one.source}): NOT ANSWERED, nothing was judged: {one.reason}"
    return _wrapped(text, "", "  ")


def _lines(audited: Audited, least: Severity) -> Iterator[str]:
    report = audited.report
    yield (
        f"{one_line(report.system)} ({audited.source}): {_count(audited.streams, 'stream')}, "
        f"{_count(audited.consumers, 'consumer')}, {_count(report.checks, 'check')}"
    )
    counts = ", ".join(f"{number:,} {severity}" for severity, number in report.counts().items())
    yield f"{counts}; {report.muted:,} muted"
    for gap in audited.gaps:
        yield from _wrapped(f"NOT ANSWERED: {gap}", "", "  ")
    for check, told in audited.shown(least).items():
        yield ""
        yield from _check(audited, check, told)
    yield from _rest(audited)


def _check(audited: Audited, check: Check, told: Sequence[Told]) -> Iterator[str]:
    yield from _wrapped(f"{check.severity.upper()}  {check.code}: {check.title}", "", "  ")
    for one in told[:MOST_PER_CHECK]:
        yield from _wrapped(f"{audited.named(one)}: {one.finding.evidence}", "  - ", "    ")
    if len(told) > MOST_PER_CHECK:
        yield f"  - and {len(told) - MOST_PER_CHECK:,} more; --format json lists all"
    yield from _wrapped(check.why, "  ", "  ")
    yield from _wrapped(f"To do: {check.remedy}", "  ", "  ")
    # Never wrapped: a command is copied.
    yield from (f"    {command}" for command in printed_commands(check, told[0].finding))


def _rest(audited: Audited) -> Iterator[str]:
    if muted := audited.muted():
        yield from ("", "Muted")
        for one in muted:
            text = f"{audited.named(one)}: {one.check.code}, by {one.muted}"
            yield from _wrapped(text, "  - ", "    ")
    if strays := audited.report.strays:
        yield from ("", "Mutes that name no check")
        for stray in strays:
            yield from _wrapped(f"{stray.code}, of {stray.subject}", "  - ", "    ")
    if lacks := audited.lacks():
        yield from ("", "Not judged")
        for reason, checks in lacks.items():
            codes = ", ".join(
                f"{one.check.code} ({one.subjects:,})" if one.subjects else one.check.code
                for one in checks
            )
            yield from _wrapped(f"{reason}: {codes}", "  - ", "    ")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    """Escaped: names and metadata come from whoever made the stream, and a terminal obeys."""
    return textwrap.wrap(
        one_line(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
