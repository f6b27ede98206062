"""Many ephemeral consumers of a stream share one row, to bound the number of series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter import catalog
from exporter.exposition.text_format import Column, label_head
from exporter.model import Consumer
from exporter.signals.events_input import ConsumerKey
from exporter.signals.results import ConsumerSignals
from exporter.signals.verdict import worst

ROW_NAME = "_ephemeral"
StreamKey = tuple[str, str]


@dataclass(slots=True)
class EphemeralGroup:
    num_pending: int = 0
    num_ack_pending: int = 0
    num_redelivered: int = 0
    num_waiting: int = 0
    verdict: int | None = None  # the worst of them

    def add(self, row: Consumer, verdict: int | None) -> None:
        self.verdict = worst(self.verdict, verdict)
        self.num_pending += row.num_pending
        self.num_ack_pending += row.num_ack_pending
        self.num_redelivered += row.num_redelivered
        self.num_waiting += row.num_waiting


def is_ephemeral(row: Consumer) -> bool:
    return row.config is not None and not row.config.durable


def count_ephemerals(rows: Sequence[Consumer]) -> Counter[StreamKey]:
    # In full instead of `is_ephemeral`: this runs for every consumer.
    return Counter(
        [
            (row.account, row.stream)
            for row in rows
            if row.config is not None and not row.config.durable
        ]
    )


def fold_ephemerals(
    rows: Sequence[Consumer],
    counts: Counter[StreamKey],
    cap: int,
    signals: Mapping[ConsumerKey, ConsumerSignals],
) -> tuple[Sequence[Consumer], dict[StreamKey, EphemeralGroup]]:
    """The rows with series of their own, and the sums of the others."""
    groups = {key: EphemeralGroup() for key, number in counts.items() if number > cap}
    if not groups:
        return rows, {}
    kept = []
    for row in rows:
        group = groups.get((row.account, row.stream)) if is_ephemeral(row) else None
        if group is None:
            kept.append(row)
        else:
            found = signals.get((row.account, row.stream, row.name))
            group.add(row, found.verdict if found else None)
    return kept, groups


def ephemeral_columns(system: str, groups: dict[StreamKey, EphemeralGroup]) -> Iterator[Column]:
    heads = [label_head(catalog.CONSUMER, (system, *key, ROW_NAME)) for key in groups]
    sums = groups.values()
    yield Column(catalog.CONSUMER_NUM_PENDING, heads, [c.num_pending for c in sums])
    yield Column(catalog.CONSUMER_NUM_ACK_PENDING, heads, [c.num_ack_pending for c in sums])
    yield Column(catalog.CONSUMER_NUM_REDELIVERED, heads, [c.num_redelivered for c in sums])
    yield Column(catalog.CONSUMER_NUM_WAITING, heads, [c.num_waiting for c in sums])
    yield Column(catalog.CONSUMER_VERDICT, heads, [c.verdict for c in sums])
