"""Whether a consumer's filters match every message of its stream."""

from __future__ import annotations

from exporter.model import ConsumerConfig, StreamConfig


def sees_everything(consumer: ConsumerConfig | None, stream: StreamConfig | None) -> bool:
    """No filter, or filters that match all subjects of the stream."""
    if consumer is None:
        return False
    if not consumer.filters:
        return True
    if stream is None or not stream.subjects:
        return False  # a mirror has the subjects of its origin
    return all(any(covers(wide, each) for wide in consumer.filters) for each in stream.subjects)


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
