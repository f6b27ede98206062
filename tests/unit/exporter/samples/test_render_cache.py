"""What a renderer keeps from poll to poll saves work and changes nothing of what is written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.examples import examples
from support.exporter.models import (
    consumer,
    consumer_config,
    server,
    snapshot,
    stream,
    stream_config,
)
from support.exporter.rendered_series import FULL, text_of

from exporter.model import Consumer, Replica, Snapshot, Stream
from exporter.samples.render import Limits, Rendered, Renderer
from exporter.samples.rows import RowCache
from exporter.signals.results import ConsumerSignals, Signals

NAMES = ("a", "b", "c", "d", 'q"\n')
OTHER = consumer_config(durable=False, max_deliver=3)
NOTHING: dict[str, Any] = {}
CHANGES = [
    *[NOTHING] * 5,
    {"up": False},
    {"num_pending": 7},
    {"config": OTHER},
    {"config": None},
    {"leader": "n2"},
    {"replicas": (Replica("n2", 1, False, 0.5),)},
    {"paused": True},
    {"num_redelivered": 2**64},
]
STREAM_CHANGES = [
    *[NOTHING] * 5,
    {"up": False},
    {"messages": 9},
    {"config": stream_config(max_bytes=100)},
    {"leader": "n2"},
    {"raft_group": "S-1"},
]
polls = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES), st.sampled_from(CHANGES), st.sampled_from(STREAM_CHANGES)
        ),
        unique_by=lambda row: row[0],
    ),
    min_size=1,
    max_size=6,
)


def row_of(name: str, changes: dict[str, Any]) -> Consumer:
    return replace(consumer(name, stream=name), **changes)


def pair(name: str, of_consumer: dict[str, Any], of_stream: dict[str, Any]) -> list[Any]:
    return [replace(stream(name), **of_stream), row_of(name, of_consumer)]


def signals_of(found: Snapshot, lag: float) -> Signals:
    """Of half of the consumers, so that rows without signals are between others."""
    return Signals(
        {
            (row.account, row.stream, row.name): ConsumerSignals(0, 0, 0, None, 0.0, lag=lag)
            for row in found.consumers
            if row.name in "ac"
        }
    )


@pytest.mark.slow
@given(polls, st.sampled_from([0.0, 1.5]), st.sampled_from([Limits(), Limits(max_series=120)]))
@settings(max_examples=examples(150), deadline=None)
def test_one_that_remembers_writes_what_a_new_one_would(
    history: list[list[tuple[str, dict[str, Any], dict[str, Any]]]], lag: float, limits: Limits
) -> None:
    renderer = Renderer("nats", FULL, limits)
    for rows in history:
        found = snapshot(server(), *(each for row in rows for each in pair(*row)))
        signals = signals_of(found, lag)
        new = Renderer("nats", FULL, limits)
        new._ever_paused = set(renderer._ever_paused)  # it affects the result
        kept, again = renderer.render(found, signals), new.render(found, signals)
        assert text_of(kept) == text_of(again)
        assert (kept.series, kept.dropped) == (again.series, again.dropped)


def blocks_of(page: Rendered) -> dict[str, object]:
    return {block.metric.name: block for block in page.blocks}


def test_a_column_that_is_unchanged_is_not_written_again() -> None:
    renderer = Renderer("nats", FULL)
    rows = [row_of(name, NOTHING) for name in NAMES]
    streams = [stream(name) for name in NAMES]
    first = blocks_of(renderer.render(snapshot(*streams, *rows)))
    # The same rows in another order and as other objects, as a server lists them.
    again = [replace(row, num_pending=5 * (row.name == "b")) for row in reversed(rows)]
    second = blocks_of(renderer.render(snapshot(*map(replace, streams), *again)))
    written = {name for name, block in second.items() if block is not first[name]}
    assert written == {
        "streamgauge_consumer_num_pending",
        "streamgauge_consumer_backlog_messages",
    }


def test_one_row_more_and_all_columns_of_its_kind_are_written_again() -> None:
    renderer = Renderer("nats", FULL)
    first = blocks_of(renderer.render(snapshot(stream(), consumer("a"))))
    second = blocks_of(renderer.render(snapshot(stream(), consumer("a"), consumer("b"))))
    for name, block in second.items():
        assert (block is first[name]) is not name.startswith("streamgauge_consumer_")


def test_rows_come_in_the_order_of_their_names_after_any_change() -> None:
    cache: RowCache[Stream, tuple[str, str]] = RowCache(
        ("system", "account", "stream"), "nats", lambda row: (row.account, row.name)
    )
    for names in ("cab", "abc", "bca", "dcb", "e", "", "xya"):
        table = cache.table([stream(name) for name in names])
        assert [row.name for row in table.rows] == sorted(names)
        assert table.keys == [("APP", name) for name in sorted(names)]
        assert table.heads == [
            f'{{system="nats",account="APP",stream="{name}"' for name in sorted(names)
        ]
