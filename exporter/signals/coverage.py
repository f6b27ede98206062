"""Does a consumer see every message of its stream? Only then do positions count messages."""

from __future__ import annotations

from exporter.model import ConsumerConfig, StreamConfig


def sees_everything(consumer: ConsumerConfig | None, stream: StreamConfig | None) -> bool:
    """No filter, or filters that let all subjects of the stream pass."""
    if consumer is None:
        return False
    if not consumer.filters:
        return True
    if stream is None or not stream.subjects:
        return False  # a mirror's subjects are its origin's
    return all(any(covers(wide, each) for wide in consumer.filters) for each in stream.subjects)


def covers(wide: str, narrow: str) -> bool:
    """Whether every subject that matches `narrow` also matches `wide`."""
    wide_words, narrow_words = wide.split("."), narrow.split(".")
    for place, word in enumerate(wide_words):
        if word == ">":
            return len(narrow_words) > place
        if place >= len(narrow_words):
            return False
        other = narrow_words[place]
        if other == ">" or (word != "*" and word != other):
            return False
    return len(wide_words) == len(narrow_words)
