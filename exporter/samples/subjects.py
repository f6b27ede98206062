"""Columns of the messages by subject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from exporter import catalog
from exporter.exposition.text_format import Column, extend_head
from exporter.model import SubjectCounts
from exporter.samples.rows import known_rows
from exporter.subscription_counts import StreamKey


def subject_columns(
    keys: Sequence[StreamKey], heads: Sequence[str], found: Mapping[StreamKey, SubjectCounts]
) -> Iterator[Column]:
    if not found:
        return
    heads, counted = known_rows(keys, heads, found)
    yield Column(catalog.STREAM_SUBJECTS_HIDDEN, heads, (each.hidden for each in counted))
    named = [
        (extend_head(head, ("subject",), (subject,)), messages)
        for head, each in zip(heads, counted, strict=True)
        for subject, messages in each.top
    ]
    yield Column(catalog.STREAM_SUBJECT_MESSAGES, [h for h, _ in named], [n for _, n in named])
