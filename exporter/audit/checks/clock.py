"""The clock of a server is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_server
from exporter.model import ClockEstimate

FAR_SECONDS = 1.0


def find(scene: AuditContext) -> Iterator[Finding]:
    known = [(row, row.clock) for row in scene.servers if row.clock is not None]
    off = [(row, clock) for row, clock in known if _surely_off(clock)]
    if not off and known:
        low = min(known, key=lambda pair: pair[1].offset_seconds + pair[1].uncertainty_seconds)
        high = max(known, key=lambda pair: pair[1].offset_seconds - pair[1].uncertainty_seconds)
        if _surely_apart(low[1], high[1]):
            off = [low, high]
    alike = len(known) > 1 and len(off) == len(known) and len({_side(c) for _, c in off}) == 1
    for row, clock in off:
        hint = "; all servers alike: is it our own clock?" if alike else ""
        yield of_server(
            row, f"{clock.offset_seconds:+.3f} s, +-{clock.uncertainty_seconds:.3f} s{hint}"
        )


def _surely_off(clock: ClockEstimate) -> bool:
    return abs(clock.offset_seconds) - clock.uncertainty_seconds > FAR_SECONDS


def _surely_apart(low: ClockEstimate, high: ClockEstimate) -> bool:
    apart = high.offset_seconds - low.offset_seconds
    return apart - high.uncertainty_seconds - low.uncertainty_seconds > FAR_SECONDS


def _side(clock: ClockEstimate) -> bool:
    return clock.offset_seconds > 0


CHECK = Check(
    code="clock",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="A server's clock is off",
    meaning=(
        "The clock of this server differs from ours or from another server's by more than a second."
    ),
    condition=(
        "The offset, less its uncertainty, is above 1 s, or two servers certainly differ by "
        "more than 1 s."
    ),
    why=(
        "Ages, retention, the duplicate window and certificates follow the clock of whoever "
        "leads; after a change of leader messages expire too early or too late."
    ),
    remedy=(
        "Let chrony or another NTP service set the clock; when all servers are off alike, look "
        "at the machine of this audit first."
    ),
    commands=("nats server list",),
    find=find,
)
