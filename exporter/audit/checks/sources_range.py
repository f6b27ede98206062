"""The number of sources differs from the owner's expectation."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import plural


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        least = config.thresholds.limit("min-sources")
        most = config.thresholds.limit("max-sources")
        has = plural(config.sources, "source")
        if least is not None and config.sources < least:
            yield stream_finding(row, f"{has}, min-sources {least:,.0f}")
        elif most is not None and config.sources > most:
            yield stream_finding(row, f"{has}, max-sources {most:,.0f}")


CHECK = Check(
    code="sources-range",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="The number of sources differs from the owner's expectation",
    meaning="The stream has more or fewer sources than its metadata expects.",
    condition=(
        "The number of sources is below io.nats.monitor.min-sources or above "
        "io.nats.monitor.max-sources."
    ),
    why="A missing source means missing messages, without any error.",
    remedy="Correct the sources in a file with the whole configuration, or correct the metadata.",
    commands=(
        "nats stream info STREAM --json",
        "nats stream edit STREAM --config FILE",
    ),
    since="2.10",
    find=find,
)
