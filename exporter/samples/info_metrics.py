"""Info metrics of streams and consumers; label text is rendered only when it changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Generic, TypeVar

from exporter import catalog
from exporter.exposition.text_format import Column, head_ending
from exporter.metric import Metric
from exporter.model import NO_NOTES, Consumer, OwnerNotes, Stream
from exporter.samples.rows import JoinedHeads, each, yes_no

_OWNER = len(catalog.OWNER_LABELS)
_CONSUMER_LABELS = catalog.CONSUMER_INFO.labels[len(catalog.CONSUMER) : -_OWNER]
_STREAM_LABELS = catalog.STREAM_INFO.labels[
    len(catalog.STREAM) : -_OWNER - len(catalog.WRITER_LABELS)
]

Row = TypeVar("Row", Stream, Consumer)
Facts = tuple[object, ...]


@dataclass(slots=True)
class InfoCache(Generic[Row]):
    """Keeps the label text of the last poll."""

    metric: Metric
    facts: Callable[[Sequence[Row]], list[Facts]]  # of all rows
    ending: Callable[[Row], str]
    _heads: Sequence[str] = ()
    _facts: list[Facts] = field(default_factory=list)
    _endings: list[str] = field(default_factory=list)  # label text of the facts; "": no series

    def column(self, rows: Sequence[Row], heads: Sequence[str]) -> Column:
        facts = self.facts(rows)
        if facts != self._facts or heads != self._heads:
            self._endings = self._render_endings(rows, heads, facts)
        self._heads, self._facts = heads, facts
        values = [1 if ending else None for ending in self._endings]
        return Column(self.metric, JoinedHeads(heads, self._endings), values)

    def _render_endings(
        self, rows: Sequence[Row], heads: Sequence[str], facts: Sequence[Facts]
    ) -> list[str]:
        known = zip(self._facts, self._endings, strict=True)
        before = dict(zip(self._heads, known, strict=True))
        shared: dict[str, str] = {}  # most endings are equal: share one string
        endings = []
        for row, head, now in zip(rows, heads, facts, strict=True):
            then, ending = before.get(head, (None, ""))
            if then != now:
                ending = self.ending(row)
            endings.append(shared.setdefault(ending, ending))
        return endings


def stream_infos() -> InfoCache[Stream]:
    return InfoCache(catalog.STREAM_INFO, _stream_facts, _stream_ending)


def consumer_infos() -> InfoCache[Consumer]:
    return InfoCache(catalog.CONSUMER_INFO, _consumer_facts, _consumer_ending)


def _stream_facts(rows: Sequence[Stream]) -> list[Facts]:
    return list(map(attrgetter("config", "leader", "raft_group"), rows))


def _stream_ending(row: Stream) -> str:
    config = row.config
    if config is None:
        return ""
    values = {
        "retention": config.retention,
        "discard": config.discard,
        "storage": config.storage,
        "compression": config.compression,
        "kind": config.kind,
        "leader": row.leader,
        "raft_group": row.raft_group,
        "replicas": str(config.replicas),
        "mirror": config.mirror,
    }
    return head_ending(_STREAM_LABELS, [values[name] for name in _STREAM_LABELS]) + _owner_ending(
        config.notes
    )


def _consumer_facts(rows: Sequence[Consumer]) -> list[Facts]:
    replicas = map(len, each(rows, "replicas"))
    return list(zip(each(rows, "config"), each(rows, "leader"), replicas, strict=True))


def _consumer_ending(row: Consumer) -> str:
    config = row.config
    if config is None:
        return ""
    values = {
        "durable": yes_no(config.durable),
        "kind": config.kind,
        "ack_policy": config.ack_policy,
        "deliver_policy": config.deliver_policy,
        "replay_policy": config.replay_policy,
        "filtered": yes_no(bool(config.filters)),
        "priority_policy": config.priority_policy,
        "flow_control": yes_no(config.flow_control),
        "leader": row.leader,
        "replicas": str(config.replicas or len(row.replicas) + 1),
    }
    return head_ending(
        _CONSUMER_LABELS, [values[name] for name in _CONSUMER_LABELS]
    ) + _owner_ending(config.notes)


def _owner_ending(notes: OwnerNotes) -> str:
    """Only what is set: most assets have no owner in their metadata."""
    if notes is NO_NOTES:
        return ""
    values = {
        "owner_name": notes.owner,
        "owner_team": notes.team,
        "owner_severity": notes.severity,
        "owner_ignore": ",".join(notes.ignore),
        "back_pressure": "true" if notes.back_pressure else "",
        "idempotent_writers": "true" if notes.idempotent_writers else "",
    }
    names = [name for name, value in values.items() if value]
    return head_ending(names, [values[name] for name in names])
