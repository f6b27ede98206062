"""Columns of the audit findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exporter import catalog
from exporter.audit.report import Report
from exporter.audit.severity import Severity
from exporter.exposition.text_format import Column, head_ending, label_head
from exporter.samples.rows import JoinedHeads
from exporter.subscription_counts import ConsumerKey, StreamKey

_LABELS = ("check", "severity")


def system_finding_columns(system: str, report: Report | None) -> Iterator[Column]:
    """Findings of servers, accounts, the meta group and the system as a whole."""
    if report is None:
        return
    found = (
        (catalog.SERVER_CONFIG_FINDING, catalog.SERVER, report.by_server),
        (catalog.ACCOUNT_CONFIG_FINDING, catalog.ACCOUNT, report.by_account),
    )
    for metric, labels, by_name in found:
        heads = [
            label_head(labels, (system, name)) + head_ending(_LABELS, (code, severity.value))
            for name, of_asset in sorted(by_name.items())
            for code, severity in of_asset
        ]
        yield Column(metric, heads, [1] * len(heads))
    heads = [
        label_head(catalog.SYSTEM, (system,)) + head_ending(_LABELS, (code, severity.value))
        for code, severity in report.of_system
    ]
    yield Column(catalog.META_CONFIG_FINDING, heads, [1] * len(heads))


def stream_finding_columns(
    keys: Sequence[StreamKey], heads: Sequence[str], report: Report | None
) -> Iterator[Column]:
    if report is None:
        return
    found = [
        (head + head_ending(_LABELS, (code, severity.value)), number)
        for key, head in zip(keys, heads, strict=True)
        for (code, severity), number in sorted(report.by_stream.get(key, {}).items())
    ]
    yield Column(catalog.STREAM_CONFIG_FINDINGS, [h for h, _ in found], [n for _, n in found])


@dataclass(slots=True)
class ConsumerFindings:
    """Keeps the column until the report or the consumers change: it may be very long."""

    _report: Report | None = None
    _keys: Sequence[ConsumerKey] = ()
    _column: Column | None = None

    def columns(
        self, keys: Sequence[ConsumerKey], heads: Sequence[str], report: Report | None
    ) -> Iterator[Column]:
        if report is None:
            return
        if self._column is None or self._report is not report or self._keys is not keys:
            self._report, self._keys = report, keys
            self._column = _consumer_column(keys, heads, report)
        yield self._column


def _consumer_column(keys: Sequence[ConsumerKey], heads: Sequence[str], report: Report) -> Column:
    shared: dict[tuple[str, Severity], str] = {}
    beginnings: list[str] = []
    endings: list[str] = []
    for key, head in zip(keys, heads, strict=True):
        for found in report.by_consumer.get(key, ()):
            if found not in shared:
                shared[found] = head_ending(_LABELS, (found[0], found[1].value))
            beginnings.append(head)
            endings.append(shared[found])
    joined = JoinedHeads(beginnings, endings)
    return Column(catalog.CONSUMER_CONFIG_FINDING, joined, [1] * len(endings))
