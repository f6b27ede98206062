"""Not as many sources as the owner expects."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import some


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        least = config.thresholds.limit("min-sources")
        most = config.thresholds.limit("max-sources")
        has = some(config.sources, "source")
        if least is not None and config.sources < least:
            yield of_stream(row, f"{has}, the owner wants at least {least:,.0f}")
        elif most is not None and config.sources > most:
            yield of_stream(row, f"{has}, the owner wants at most {most:,.0f}")


CHECK = Check(
    code="sources-range",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Not as many sources as the owner expects",
    meaning="The stream has more or fewer sources than its owner wrote into its metadata.",
    condition=(
        "The number of sources is below io.nats.monitor.min-sources or above "
        "io.nats.monitor.max-sources."
    ),
    why="A source that is missing means messages that are missing, without any error.",
    remedy="Correct the sources in a file with the whole configuration, or the metadata.",
    commands=(
        "nats stream info STREAM --json",
        "nats stream edit STREAM --config FILE",
    ),
    since="2.10",
    find=find,
)
