"""The words about one consumer: those of its page. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from exporter.model import Consumer
from exporter.pages.asset.view import by_reason
from exporter.pages.status.level import Level
from exporter.pages.status.problems import Facts, Problem, consumer_problems
from exporter.pages.status.wording import span
from exporter.pages.tables.consumers import state_text


def explanation(row: Consumer, facts: Facts) -> Iterator[str]:
    """Lines: the state, each problem with its evidence, the numbers, what to do about the gravest."""
    problems = consumer_problems(row, facts)
    yield f"{row.stream} › {row.name} (account {row.account})"
    yield f"State: {state_text(row, facts, problems)}."
    for problem in problems:
        yield from _problem(problem)
    if row.up:
        yield f"Numbers: {_numbers(row)}."
    signals = facts.signals.consumers.get((row.account, row.stream, row.name))
    for reason, words in by_reason(signals.unjudged if signals else ()):
        yield f"Not judged ({reason}): {words}."
    if problems:
        yield f"It means: {problems[0].means}"
        yield f"Next: {problems[0].command}"
        yield f"Runbook: {problems[0].runbook}"


def not_found(stream: str, consumer: str, consumers: Sequence[Consumer]) -> str:
    """The reason, with the nearest names."""
    streams = {row.stream for row in consumers}
    if not streams:
        return (
            "this user sees no consumer: log in to the account of the stream, or, as a user of "
            "the system account, with --source system"
        )
    if stream not in streams:
        return f"no consumer of a stream {stream} was found{_near(stream, streams)}"
    names = {row.name for row in consumers if row.stream == stream}
    return f"stream {stream} has no consumer {consumer}{_near(consumer, names)}"


def _near(name: str, known: set[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=3)
    return f" (did you mean {', '.join(near)}?)" if near else ""


def _problem(problem: Problem) -> Iterator[str]:
    level = Level(problem.level)
    word = "Note" if level is Level.OK else level.word.capitalize()
    evidence = f": {problem.evidence}" if problem.evidence else ""
    yield f"{word}: {problem.text}{_since(problem.since_seconds)}{evidence}."


def _since(seconds: float | None) -> str:
    """What began with the last of the two polls may have held for long before."""
    if seconds is None:
        return ""
    return f", for {span(seconds)}" if seconds >= 1 else ", seen now"


def _numbers(row: Consumer) -> str:
    most = row.config.max_ack_pending if row.config else None
    limit = f" of {most:,}" if most is not None else ""
    parts = [
        f"{row.num_pending:,} pending",
        f"{row.num_ack_pending:,}{limit} unacknowledged",
        f"{row.num_redelivered:,} redelivered",
    ]
    if row.config is None or row.config.kind != "push":
        parts.append(f"{row.num_waiting:,} pulls waiting")
    return ", ".join(parts)
