"""The chapters on streams (size, growth, limits) and on publishing."""

from __future__ import annotations

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
    Level,
)
from spark_rollups.report.facts.assets import (
    STREAM,
    Floats,
    divided,
    increase_by,
    limit_of,
    total,
)
from spark_rollups.report.facts.events import CODES, Rejections, dedupe_memory, unstored_ratio
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.stores import stream_growth
from spark_rollups.report.model import Chapter, Column, Row, Table, sorted_rows
from spark_rollups.report.table_rows import Cells, by_column, identity, rows_of

_SIZE = 3  # index of the column: after system, account and stream


def streams_chapter(facts: Facts) -> Chapter:
    return Chapter("streams", "Streams", tuple(_sentences(facts)), (_table(facts),))


def _sentences(facts: Facts) -> list[str]:
    now, before = facts.streams.now, facts.streams.before
    there = int(now.seen.sum())
    size, growth = total(now.at_end(c.STREAM_BYTES)), total(stream_growth(facts)[0])
    sentences = [
        f"{fmt.plural(there, 'stream')} in {fmt.plural(len(_accounts(facts)), 'account')}."
    ]
    if size is not None and growth is not None:
        verb = "grew by" if growth >= 0 else "shrank by"
        sentences.append(
            f"Together they held {fmt.bytes_text(size)} at the end, one replica each, and {verb} "
            f"{fmt.bytes_text(abs(growth))} within the month."
        )
    new, gone = now.seen & ~before.seen, before.seen & ~now.seen
    if facts.days_before and (new.any() or gone.any()):
        sentences.append(
            f"{fmt.plural(int(new.sum()), 'stream is', 'streams are')} new, "
            f"{fmt.plural(int(gone.sum()), 'is', 'are')} gone."
        )
    return sentences


def _accounts(facts: Facts) -> set[tuple[str, ...]]:
    names, seen = facts.streams.now.names, facts.streams.now.seen
    return {name[:2] for name, there in zip(names, seen, strict=True) if there}


def _table(facts: Facts) -> Table:
    now = facts.streams.now
    size, messages = now.at_end(c.STREAM_BYTES), now.at_end(c.STREAM_MESSAGES)
    limit = limit_of(now.limit(c.STREAM_MAX_BYTES, c.STREAM_BYTES), size)
    max_messages = limit_of(now.limit(c.STREAM_MAX_MESSAGES, c.STREAM_MESSAGES), messages)
    max_age = limit_of(now.limit(c.STREAM_MAX_AGE_SECONDS, c.STREAM_MESSAGES), messages)
    growth, growth_before = stream_growth(facts)
    infos = [facts.stream_info.get(name, {}) for name in now.names]
    fill = _fill(size, limit, messages, max_messages)
    columns: tuple[Cells, ...] = (
        size, growth, growth_before, now.highest(c.STREAM_BYTES), limit, messages, max_messages,
        fill, now.increase(c.STREAM_STORED_MESSAGES),
        facts.streams.before.increase(c.STREAM_STORED_MESSAGES), max_age,
        now.last(c.STREAM_CONSUMERS), now.last(c.STREAM_REPLICAS),
        *([info.get(label) for info in infos] for label in ("discard", "retention", "storage")),
    )  # fmt: skip
    rows = rows_of(now, now.seen, columns, _levels(facts, fill))
    return Table(
        "streams",
        "All streams",
        identity(now.labels),
        _columns(facts),
        sorted_rows(rows, by_column(_SIZE)),
        note="Largest first. Sizes are of one replica.",
        empty="No stream was seen in this month.",
    )


def _fill(size: Floats, limit: Floats, messages: Floats, max_messages: Floats) -> Floats:
    """The fill of the nearest limit; infinity without a limit."""
    none = np.isinf(limit) & np.isinf(max_messages)
    by_size = divided(size, np.where(np.isinf(limit), np.nan, limit))
    by_number = divided(messages, np.where(np.isinf(max_messages), np.nan, max_messages))
    return np.where(none, np.inf, np.fmax(by_size, by_number))


def _levels(facts: Facts, fill: Floats) -> list[Level]:
    """Only streams with discard policy new are at risk; the others are full by design."""
    filling, full = facts.threshold(t.STREAM_FILLING_RATIO), facts.threshold(t.STREAM_FULL_RATIO)
    levels = []
    for name, value in zip(facts.streams.now.names, fill.tolist(), strict=True):
        refuses = facts.stream_info.get(name, {}).get("discard") == "new" and np.isfinite(value)
        level = (
            Level.CRITICAL if value >= full else Level.WARNING if value >= filling else Level.NORMAL
        )
        levels.append(level if refuses else Level.NORMAL)
    return levels


def _columns(facts: Facts) -> tuple[Column, ...]:
    month, before = facts.month.title, facts.month.before.title
    return (
        Column(
            "bytes",
            "Size",
            Kind.BYTES,
            "at the end of the month; unknown if the stream was deleted before",
        ),
        Column("growth", "Growth", Kind.BYTES, f"within {month}"),
        Column("growth_before", "Month before", Kind.BYTES, f"growth within {before}"),
        Column("bytes_peak", "Peak", Kind.BYTES, shown=False),
        Column("max_bytes", "Limit", Kind.BYTES, "max_bytes"),
        Column("messages", "Messages", Kind.COUNT, "at the end of the month"),
        Column("max_messages", "Limit", Kind.COUNT, "max_msgs"),
        Column("fill", "Filled", Kind.SHARE, "of the nearest limit"),
        Column("stored", "Stored", Kind.COUNT, f"messages stored within {month}"),
        Column("stored_before", "Month before", Kind.COUNT, f"messages stored within {before}"),
        Column("max_age_seconds", "Max age", Kind.SECONDS, shown=False),
        Column("consumers", "Consumers", Kind.COUNT),
        Column("replicas", "Replicas", Kind.COUNT, shown=False),
        Column(
            "discard",
            "When full",
            hint="discard policy: new rejects publishes, old discards the oldest",
        ),
        Column("retention", "Retention", shown=False),
        Column("storage", "Storage", shown=False),
    )


def publishing_chapter(facts: Facts, rejections: list[Rejections]) -> Chapter:
    return Chapter(
        "publishing",
        "Publishing",
        tuple(_publishing_sentences(facts, rejections)),
        (_publishing_table(facts), _rejection_table(facts, rejections)),
    )


def _publishing_sentences(facts: Facts, rejections: list[Rejections]) -> list[str]:
    now = facts.streams.now
    stored = total(now.increase(c.STREAM_STORED_MESSAGES))
    unstored = total(now.increase(c.STREAM_PUBLISHES_UNSTORED))
    sentences = []
    if stored is not None:
        sentences.append(f"{fmt.count(stored)} messages were stored.")
    if unstored is None:
        sentences.append(
            "The number of publishes that were not stored is unknown: it needs the system or monitor source "
            "and publish accounting."
        )
    else:
        sentences.append(f"{fmt.count(unstored)} publishes reached a stream and were not stored.")
    if not rejections and not facts.others["rejections"].now.has(c.STREAM_PUBLISH_REJECTIONS):
        sentences.append(
            "Rejections are unknown, or there were none: only the publish-ack tap counts them."
        )
    return sentences


def _publishing_table(facts: Facts) -> Table:
    now, before = facts.streams.now, facts.streams.before
    exact = now.lowest(c.STREAM_DEDUPE_EXACT)
    columns = (
        now.increase(c.STREAM_PUBLISHES_RECEIVED),
        now.increase(c.STREAM_STORED_MESSAGES),
        now.increase(c.STREAM_PUBLISHES_UNSTORED), unstored_ratio(now), unstored_ratio(before),
        now.increase(c.STREAM_DEDUPE_HITS), before.increase(c.STREAM_DEDUPE_HITS),
        [None if np.isnan(value) else "exact" if value >= 1 else "at most" for value in exact],
        _rejected(facts),
        now.last(c.STREAM_DUPLICATE_WINDOW_SECONDS), now.highest(c.STREAM_DEDUPE_WINDOW_MESSAGES),
        dedupe_memory(facts, now),
    )  # fmt: skip
    rows = rows_of(now, now.seen, columns)
    return Table(
        "publishing",
        "Publishes by stream",
        identity(now.labels),
        _publishing_columns(facts),
        sorted_rows(rows, by_column(len(now.labels) + 2)),
        note="Only the publish-ack tap counts duplicates exactly; without it the number is an upper bound.",
    )


def _rejected(facts: Facts) -> Floats:
    return increase_by(
        facts.others["rejections"].now, c.STREAM_PUBLISH_REJECTIONS, facts.streams.now
    )


def _publishing_columns(facts: Facts) -> tuple[Column, ...]:
    return (
        Column("received", "Received", Kind.COUNT, "publishes that reached the stream"),
        Column("stored", "Stored", Kind.COUNT),
        Column("unstored", "Not stored", Kind.COUNT),
        Column("unstored_ratio", "Share", Kind.SHARE, "not stored, as a share of received"),
        Column("unstored_ratio_before", "Month before", Kind.SHARE, "share in the month before"),
        Column("duplicates", "Duplicates", Kind.COUNT),
        Column("duplicates_before", "Duplicates before", Kind.COUNT, shown=False),
        Column("duplicates_counted", "Counted", hint="exact, or an upper bound"),
        Column("rejections", "Rejected", Kind.COUNT, line=1),
        Column("duplicate_window_seconds", "Window", Kind.SECONDS, shown=False),
        Column("ids_peak", "Message ids", Kind.COUNT, "peak in the duplicate window, an estimate",
               shown=False),
        Column("ids_memory", "Id memory", Kind.BYTES, "per replica, an estimate",
               line=facts.threshold(t.DEDUPE_MEMORY)),
    )  # fmt: skip


def _rejection_table(facts: Facts, rejections: list[Rejections]) -> Table:
    rows = [
        Row((*each.name, each.code, CODES.get(each.code, ""), each.number)) for each in rejections
    ]
    return Table(
        "rejections",
        "Rejections by code",
        identity(STREAM),
        (
            Column("code", "Code"),
            Column("meaning", "Meaning"),
            Column("number", "Rejected", Kind.COUNT),
        ),
        rows,
        empty="None was counted. Without the publish-ack tap rejections are unknown.",
    )
