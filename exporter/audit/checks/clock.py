"""The clock of a server is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity
from exporter.model import ClockEstimate

FAR_SECONDS = 1.0


def find(context: AuditContext) -> Iterator[Finding]:
    known = [(row, row.clock) for row in context.servers if row.clock is not None]
    off = [(row, clock) for row, clock in known if _is_off(clock)]
    if not off and known:
        low = min(known, key=lambda pair: pair[1].offset_seconds + pair[1].uncertainty_seconds)
        high = max(known, key=lambda pair: pair[1].offset_seconds - pair[1].uncertainty_seconds)
        if _differ(low[1], high[1]):
            off = [low, high]
    directions = {clock.offset_seconds > 0 for _, clock in off}
    same_direction = len(known) > 1 and len(off) == len(known) and len(directions) == 1
    for row, clock in off:
        hint = "; same direction on all servers: check the local clock" if same_direction else ""
        yield server_finding(
            row, f"{clock.offset_seconds:+.3f} s, +-{clock.uncertainty_seconds:.3f} s{hint}"
        )


def _is_off(clock: ClockEstimate) -> bool:
    return abs(clock.offset_seconds) - clock.uncertainty_seconds > FAR_SECONDS


def _differ(low: ClockEstimate, high: ClockEstimate) -> bool:
    apart = high.offset_seconds - low.offset_seconds
    return apart - high.uncertainty_seconds - low.uncertainty_seconds > FAR_SECONDS


CHECK = Check(
    code="clock",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="The clock of a server is wrong",
    meaning=(
        "The clock of this server differs from the auditing host or from another server by more "
        "than 1 s."
    ),
    condition=(
        "The offset minus its uncertainty is above 1 s, or two servers differ by more than 1 s "
        "with certainty."
    ),
    why=(
        "Message ages, retention, the duplicate window and certificates use the clock of the "
        "leader. After a leader change, messages expire too early or too late."
    ),
    remedy=(
        "Synchronize the clock with chrony or another NTP service. If all servers have the same "
        "offset, check the host that runs this audit first."
    ),
    commands=("nats server list",),
    find=find,
)
