"""The words about one consumer. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from exporter.model import Consumer
from exporter.pages.status.conditions import ConditionView
from exporter.pages.status.level import Level
from exporter.pages.status.view import ConsumerView, span
from exporter.signals.conditions.words import Condition
from exporter.signals.results import ConsumerSignals
from exporter.terminal.advice import ADVICE


def explanation(view: ConsumerView, signals: ConsumerSignals | None, now: float) -> Iterator[str]:
    """Lines: the verdict, its evidence, all conditions, the numbers, what to do."""
    yield f"{view.stream} › {view.consumer} (account {view.account})"
    yield f"Verdict: {view.condition or 'unknown'}{_for(view.since_seconds)}."
    if view.evidence:
        yield f"Evidence: {view.evidence}."
    held = signals.conditions if signals else ()
    for word, since in held:
        yield f"Condition: {word.replace('_', ' ')}{_for(max(0.0, now - since))}."
    if view.up:
        yield f"Numbers: {_numbers(view)}."
    for reason, words in _unjudged(signals):
        yield f"Not judged ({reason}): {', '.join(words)}."
    yield from _advice(view, [word for word, _ in held])


def level_of(view: ConsumerView, signals: ConsumerSignals | None) -> Level:
    """The gravest of the verdict and the conditions."""
    held = signals.conditions if signals else ()
    rows = (ConditionView("consumer", "", word, 0.0) for word, _ in held)
    return max((view.level, *(row.level for row in rows)))


def not_found(stream: str, consumer: str, consumers: Sequence[Consumer]) -> str:
    """The reason, with the nearest names."""
    streams = {row.stream for row in consumers}
    if stream not in streams:
        return f"no consumer of a stream {stream} was found{_near(stream, streams)}"
    names = {row.name for row in consumers if row.stream == stream}
    return f"stream {stream} has no consumer {consumer}{_near(consumer, names)}"


def _near(name: str, known: set[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=3)
    return f" (did you mean {', '.join(near)}?)" if near else ""


def _for(seconds: float | None) -> str:
    return "" if seconds is None else f", for {span(seconds)}"


def _numbers(view: ConsumerView) -> str:
    limit = f" of {view.max_ack_pending:,}" if view.max_ack_pending is not None else ""
    parts = [
        f"{view.num_pending:,} pending",
        f"{view.num_ack_pending:,}{limit} unacknowledged",
        f"{view.num_redelivered:,} redelivered",
    ]
    if view.num_waiting is not None:
        parts.append(f"{view.num_waiting:,} pulls waiting")
    return ", ".join(parts)


def _unjudged(signals: ConsumerSignals | None) -> Iterator[tuple[str, list[str]]]:
    by_reason: dict[str, list[str]] = {}
    for word, reason in signals.unjudged if signals else ():
        by_reason.setdefault(reason, []).append(word.replace("_", " "))
    yield from by_reason.items()


def _advice(view: ConsumerView, held: Sequence[str]) -> Iterator[str]:
    words = held or ([Condition.NO_LEADER] if not view.up and not view.malformed else [])
    if not words:
        return
    advice = ADVICE[Condition(words[0])]
    yield f"It means: {advice.means}"
    yield f"Next: {advice.command.format(stream=view.stream, consumer=view.consumer)}"
    yield f"Runbook: {advice.runbook}"
