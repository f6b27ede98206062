"""The evidence of a verdict as text for the status page."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.model import Consumer
from exporter.pages.status.view import span
from exporter.signals.results import ConsumerSignals
from exporter.signals.verdict import Verdict

# A shorter lag is normal processing time.
_MIN_LAG_SECONDS = 5.0


def evidence(row: Consumer, signals: ConsumerSignals) -> str:
    """The values behind the verdict; empty without a fault."""
    if signals.verdict is None:
        return ""
    return ", ".join(_facts(row, signals, Verdict(signals.verdict)))


def _facts(row: Consumer, signals: ConsumerSignals, verdict: Verdict) -> Iterator[str]:
    if verdict is Verdict.NO_LEADER:
        yield row.reason.replace("_", " ") or "its leader did not respond"
        return
    if verdict is Verdict.LOSING_MESSAGES and signals.lost is not None:
        yield f"{signals.lost:,} lost before delivery"
    if verdict is Verdict.REDELIVERY_LOOP and signals.redelivery_ratio is not None:
        yield f"{signals.redelivery_ratio:.0%} of deliveries are redeliveries"
    if verdict is Verdict.NO_WORKER_PULLS:
        push = row.config is not None and row.config.kind == "push"
        yield "no subscriber is bound" if push else "no pull request waits"
    if verdict is Verdict.STALLED:
        yield "clients wait for messages"
    if verdict is Verdict.LONG_JOBS:
        yield "in-progress acks extend ack_wait"
    if verdict not in (Verdict.OK, Verdict.IDLE, Verdict.PAUSED):
        if signals.stalled:
            yield f"nothing delivered for {span(signals.stalled)}"
        if signals.floor_stalled:
            yield f"ack floor unchanged for {span(signals.floor_stalled)}"
    if signals.lag is not None and signals.lag >= _MIN_LAG_SECONDS:
        yield f"oldest unfinished {span(signals.lag)} old"
    if signals.floor_exhausted:
        yield "ack floor held by messages that reached max_deliver"
