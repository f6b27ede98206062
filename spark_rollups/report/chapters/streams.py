"""The chapter on streams: size, growth and limits."""

from __future__ import annotations

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
    Level,
)
from spark_rollups.report.facts.arithmetic import divided, limit_of, total
from spark_rollups.report.facts.assets import Floats, Statistic
from spark_rollups.report.facts.capacity import stream_growth
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.model import Chapter, Column, Table, sorted_rows
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
        size, growth, growth_before, now.column(c.STREAM_BYTES, Statistic.MAX), limit, messages, max_messages,
        fill, now.column(c.STREAM_STORED_MESSAGES, Statistic.INCREASE),
        facts.streams.before.column(c.STREAM_STORED_MESSAGES, Statistic.INCREASE), max_age,
        now.column(c.STREAM_CONSUMERS, Statistic.LAST), now.column(c.STREAM_REPLICAS, Statistic.LAST),
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
