"""The page of one stream."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.model import Consumer, Snapshot, Stream, StreamConfig
from exporter.pages.asset.view import (
    AssetView,
    Chart,
    Fact,
    FactTable,
    PageSource,
    owner_notes,
    per_second,
    replica_table,
    seconds,
    shown,
)
from exporter.pages.status import links
from exporter.pages.status.level import Level
from exporter.pages.status.problems import Facts, consumer_problems, level_of, stream_problems
from exporter.pages.status.wording import ago, number, percent, size, span
from exporter.pages.tables.consumers import state_text
from exporter.pages.tables.streams import stream_state, used_share
from exporter.pages.tables.table import Cell

_CHARTS = (
    Chart("fill_ratio", "Fill", percent),
    Chart("messages", "Messages", number),
    Chart("bytes", "Size", size),
    Chart("last_seq", "Stored", per_second, rate=True),
)
# The gravest consumers; the table has all of them.
_MAX_CONSUMERS = 20


def stream_page(row: Stream, snapshot: Snapshot, source: PageSource) -> AssetView:
    problems = stream_problems(row, source.facts)
    return source.view(
        "stream", (row.account, row.name), stream_state(problems), problems, _CHARTS,
        path=(Fact("Account", row.account),),
        numbers=_numbers(row, source) if row.up else (),
        configuration=_configuration(row.config) if row.config else (),
        tables=(
            *_consumers(row, snapshot, source.facts),
            *replica_table(row.leader, row.replicas, "entries"),
            *_origins(row),
        ),
        unjudged=source.facts.signals.stream_unjudged.get((row.account, row.name), ()),
    )  # fmt: skip


def _numbers(row: Stream, source: PageSource) -> Iterator[Fact]:
    yield Fact("Messages", f"{row.messages:,}")
    yield Fact("Size", size(row.bytes))
    if (used := used_share(row)) is not None:
        yield Fact("Used", percent(used), "of its nearest limit")
    yield Fact("Consumers", f"{row.consumers:,}")
    yield Fact("Subjects", f"{row.subjects:,}")
    yield Fact("Sequences", f"{row.first_seq:,} to {row.last_seq:,}")
    moments = (("First message", row.first_time), ("Last message", row.last_time))
    yield from source.moments(row.leader, moments)
    if row.deleted:
        yield Fact("Deleted inside", f"{row.deleted:,}")
    yield Fact("Leader", row.leader or "–")


def _configuration(config: StreamConfig) -> tuple[Fact, ...]:
    return shown(
        (
            ("Subjects", config.subjects),
            ("Retention", config.retention),
            (
                "Discard",
                config.discard + (" per subject" if config.discard_new_per_subject else ""),
            ),
            ("Storage", config.storage),
            ("Replicas", config.replicas),
            ("max_bytes", None if config.max_bytes is None else size(config.max_bytes)),
            ("max_msgs", config.max_messages),
            ("max_msgs_per_subject", config.max_messages_per_subject),
            ("max_age", seconds(config.max_age_seconds)),
            ("max_consumers", config.max_consumers),
            ("Duplicate window", seconds(config.duplicate_window_seconds)),
            ("Compression", "" if config.compression == "none" else config.compression),
            ("Mirror of", config.mirror),
            ("Sources", config.sources or None),
            ("Sealed", config.sealed),
            *owner_notes(config.notes),
            ("Back pressure intended", config.notes.back_pressure),
        )
    )


def _consumers(row: Stream, snapshot: Snapshot, facts: Facts) -> tuple[FactTable, ...]:
    own = [each for each in snapshot.consumers if (each.stream, each.account) == (row.name, row.account)]  # fmt: skip
    if not own:
        return ()

    def gravest(each: Consumer) -> tuple[int, int]:
        return -level_of(consumer_problems(each, facts)), -each.num_pending - each.num_ack_pending

    own.sort(key=gravest)
    rows = tuple(_consumer(each, snapshot.system, facts) for each in own[:_MAX_CONSUMERS])
    hidden = len(own) - len(rows)
    title = "Consumers" + (f", the gravest {len(rows)} of {len(own):,}" if hidden else "")
    return (FactTable(title, ("Consumer", "State", "Pending", "Ack pending", "Lag"), rows),)


def _consumer(row: Consumer, system: str, facts: Facts) -> tuple[Cell, ...]:
    key = (row.account, row.stream, row.name)
    problems, signals = consumer_problems(row, facts), facts.signals.consumers.get(key)
    level = level_of(problems)
    since = problems[0].since_seconds if level is not Level.OK else None
    return (
        Cell(row.name, href=links.asset_page("consumer", system, key)),
        Cell(state_text(row, facts, problems), f"for {span(since)}" if since is not None else "", level=level),
        Cell(f"{row.num_pending:,}" if row.up else "–"),
        Cell(f"{row.num_ack_pending:,}" if row.up else "–"),
        Cell(span(signals.lag) if signals else "–"),
    )  # fmt: skip


def _origins(row: Stream) -> tuple[FactTable, ...]:
    if not row.origins:
        return ()
    rows = tuple(
        (
            Cell(each.name),
            Cell(each.error, level=Level.WARNING) if each.error else Cell("in contact"),
            Cell(f"{each.lag:,}"),
            Cell(ago(each.active_seconds)),
        )
        for each in row.origins
    )
    return (FactTable("Copies from", ("Stream", "State", "Lag (messages)", "Last contact"), rows),)
