"""Whether a consumer's filters match every message of its stream."""

from __future__ import annotations

from exporter.model import ConsumerConfig, StreamConfig


def sees_everything(consumer: ConsumerConfig | None, stream: StreamConfig | None) -> bool:
    """No filter, or filters that match all subjects under which the stream stores messages now.

    Messages that it stored before its subjects changed may have others.
    """
    if consumer is None:
        return False
    if is_unfiltered(consumer):
        return True
    # Mirrors, sources and transforms store subjects that are not configured here.
    if stream is None or not stream.subjects or stream.sourced or stream.transformed:
        return False
    return all(any(covers(wide, each) for wide in consumer.filters) for each in stream.subjects)


def is_unfiltered(consumer: ConsumerConfig) -> bool:
    return not consumer.filters or ">" in consumer.filters


def covers(wide: str, narrow: str) -> bool:
    """Whether every subject that matches `narrow` also matches `wide`."""
    wide_tokens, narrow_tokens = wide.split("."), narrow.split(".")
    for index, part in enumerate(wide_tokens):
        if part == ">":
            return len(narrow_tokens) > index
        if index >= len(narrow_tokens):
            return False
        other = narrow_tokens[index]
        if other == ">" or (part != "*" and part != other):
            return False
    return len(wide_tokens) == len(narrow_tokens)
