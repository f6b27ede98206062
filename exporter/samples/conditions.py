"""Columns of conditions and of derived event counters: only assets that have any have series."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TypeVar

from exporter import catalog
from exporter.exposition.text_format import Column, head_ending, label_head
from exporter.metric import Metric
from exporter.samples.rows import JoinedHeads
from exporter.signals.conditions.held import Held
from exporter.signals.event_count import EventCount, Events
from exporter.signals.events_input import StreamKey
from exporter.signals.results import ConsumerSignals

Key = TypeVar("Key")


def consumer_condition_column(heads: Sequence[str], results: Sequence[ConsumerSignals]) -> Column:
    unwell = (
        (head, one.conditions) for head, one in zip(heads, results, strict=True) if one.conditions
    )
    return _column(catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS, unwell)


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
        # A list, so that a block that did not change is not written again.
        counted = [head for head, _ in found]
        yield Column(counter, counted, [count.total for _, count in found])
        yield Column(catalog.EVENT_TIMES[counter], counted, [count.last for _, count in found])


def _known(
    keys: Sequence[Key], heads: Sequence[str], found: Mapping[Key, object]
) -> Iterable[tuple[Key, str]]:
    if not found:
        return ()
    return ((key, head) for key, head in zip(keys, heads, strict=True) if key in found)


def _column(metric: Metric, unwell: Iterable[tuple[str, Held]]) -> Column:
    heads, endings, values = [], [], []
    for head, held in unwell:
        for word, since in held:
            heads.append(head)
            endings.append(_ending(word))
            values.append(since)
    # Most conditions hold for many polls: such heads let the block of the last poll be kept.
    return Column(metric, JoinedHeads(heads, endings), values)


@cache
def _ending(word: str) -> str:
    return head_ending(("condition",), (word,))
