"""Series of chosen metadata, within their limit; what has no series is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from exporter.exposition.text_format import Column, head_ending
from exporter.metric import Metric
from exporter.model import Consumer, Stream

_LABELS = ("key", "value")


@dataclass(slots=True)
class MetadataSeries:
    """Those of one poll; `left`: how many more fit."""

    left: int
    dropped: dict[str, int] = field(default_factory=lambda: {"limit": 0, "text": 0})

    def column(
        self, metric: Metric, rows: Sequence[Stream | Consumer], heads: Sequence[str]
    ) -> Column:
        named = [
            head + head_ending(_LABELS, (key, value))
            for row, head in zip(rows, heads, strict=True)
            if row.config is not None
            for key, value in row.config.metadata
            if self._fits(value)
            if value is not None
        ]
        return Column(metric, named, [1] * len(named))

    def _fits(self, value: str | None) -> bool:
        reason = "text" if value is None else "" if self.left else "limit"
        if reason:
            self.dropped[reason] += 1
        else:
            self.left -= 1
        return not reason
