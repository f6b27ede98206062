"""Columns of conditions and of derived event counters: only assets that have any have series."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from exporter import catalog
from exporter.exposition.text_format import Column, extend_head, label_head
from exporter.metric import Metric
from exporter.samples.rows import known_rows
from exporter.signals.conditions.held import Held
from exporter.signals.event_count import EventCount, Events
from exporter.signals.events_input import ConsumerKey, StreamKey
from exporter.signals.results import ConsumerSignals

Key = TypeVar("Key")


def consumer_condition_columns(
    keys: Sequence[ConsumerKey],
    heads: Sequence[str],
    signals: Mapping[ConsumerKey, ConsumerSignals],
) -> Iterator[Column]:
    heads, results = known_rows(keys, heads, signals)
    unwell = (
        (head, one.conditions) for head, one in zip(heads, results, strict=True) if one.conditions
    )
    yield _column(catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS, unwell)


def stream_condition_columns(
    keys: Sequence[StreamKey], heads: Sequence[str], conditions: Mapping[StreamKey, Held]
) -> Iterator[Column]:
    unwell = ((head, conditions[key]) for key, head in _known(keys, heads, conditions))
    yield _column(catalog.STREAM_CONDITION_START_TIMESTAMP_SECONDS, unwell)


def server_condition_columns(system: str, conditions: Mapping[str, Held]) -> Iterator[Column]:
    unwell = (
        (label_head(catalog.SERVER, (system, server)), held)
        for server, held in sorted(conditions.items())
    )
    yield _column(catalog.SERVER_CONDITION_START_TIMESTAMP_SECONDS, unwell)


def event_columns(
    keys: Sequence[Key], heads: Sequence[str], events: Mapping[Key, Events]
) -> Iterator[Column]:
    """The counters and the times of their last events."""
    by_counter: defaultdict[Metric, list[tuple[str, EventCount]]] = defaultdict(list)
    for key, head in _known(keys, heads, events):
        for counter, count in events[key].items():
            by_counter[counter].append((head, count))
    for counter, found in by_counter.items():
        yield Column(counter, (head for head, _ in found), [count.total for _, count in found])
        times = [count.last for _, count in found]
        yield Column(catalog.EVENT_TIMES[counter], (head for head, _ in found), times)


def _known(
    keys: Sequence[Key], heads: Sequence[str], found: Mapping[Key, object]
) -> Iterable[tuple[Key, str]]:
    if not found:
        return ()
    return ((key, head) for key, head in zip(keys, heads, strict=True) if key in found)


def _column(metric: Metric, unwell: Iterable[tuple[str, Held]]) -> Column:
    series = [
        (extend_head(head, ("condition",), (word,)), since)
        for head, held in unwell
        for word, since in held
    ]
    return Column(metric, (head for head, _ in series), [since for _, since in series])
