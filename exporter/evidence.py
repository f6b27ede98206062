"""The numbers behind a verdict, in words for the status page. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.model import Consumer
from exporter.signals.told import ConsumerSignals
from exporter.signals.verdict import Verdict
from exporter.status_view import span

# A lag below this is the normal way of a message through a worker.
_WORTH_TELLING_SECONDS = 5.0


def evidence(row: Consumer, told: ConsumerSignals) -> str:
    """What one would have to look up to believe the verdict; empty when all is well."""
    if told.verdict is None:
        return ""
    return ", ".join(_facts(row, told, Verdict(told.verdict)))


def _facts(row: Consumer, told: ConsumerSignals, verdict: Verdict) -> Iterator[str]:
    if verdict is Verdict.NO_LEADER:
        yield row.reason.replace("_", " ") or "its leader did not answer"
        return
    if verdict is Verdict.LOSING_MESSAGES and told.lost is not None:
        yield f"{told.lost:,} lost before they were sent"
    if verdict is Verdict.REDELIVERY_LOOP and told.redelivery_ratio is not None:
        yield f"{told.redelivery_ratio:.0%} of deliveries are repeats"
    if verdict is Verdict.NO_WORKER_PULLS:
        push = row.config is not None and row.config.kind == "push"
        yield "no subscriber is bound" if push else "no pull request waits"
    if verdict not in (Verdict.OK, Verdict.IDLE, Verdict.PAUSED):
        if told.stalled:
            yield f"nothing delivered for {span(told.stalled)}"
        if told.floor_stalled:
            yield f"ack floor unmoved for {span(told.floor_stalled)}"
    if told.lag is not None and told.lag >= _WORTH_TELLING_SECONDS:
        yield f"oldest unfinished {span(told.lag)} old"
    if told.floor_exhausted:
        yield "floor held by messages that ran out of max_deliver"
