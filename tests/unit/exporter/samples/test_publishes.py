"""Publishes, acks and pulls as series: one line for what is known, none for what is not."""

from __future__ import annotations

from collections.abc import Iterable

from exporter.exposition.text_format import Column, write_lines
from exporter.samples.publishes import consumer_reply_columns, stream_publish_columns
from exporter.signals.publishes.engine import ConsumerReplies, StreamPublishes


def lines(columns: Iterable[Column]) -> list[str]:
    return [
        line for column in columns for line in b"".join(write_lines(column)).decode().splitlines()
    ]


def test_streams_show_what_is_known_of_them() -> None:
    keys = [("APP", "A"), ("APP", "B"), ("APP", "C")]
    heads = ['{stream="A"', '{stream="B"', '{stream="C"']
    signals = {("APP", "A"): StreamPublishes(9, 4, 3, 1), ("APP", "C"): StreamPublishes(7)}
    assert lines(stream_publish_columns(keys, heads, signals)) == [
        'streamgauge_stream_publishes_received_total{stream="A"} 9',
        'streamgauge_stream_publishes_received_total{stream="C"} 7',
        'streamgauge_stream_publishes_unstored_total{stream="A"} 4',
        'streamgauge_stream_dedupe_hits_total{stream="A"} 3',
        'streamgauge_stream_dedupe_exact{stream="A"} 1',
    ]


def test_consumers_show_what_is_known_of_them() -> None:
    keys = [("APP", "ORDERS", name) for name in "abc"]
    heads = ['{consumer="a"', '{consumer="b"', '{consumer="c"']
    signals = {
        ("APP", "ORDERS", "a"): ConsumerReplies(5, 2, 0),
        ("APP", "ORDERS", "b"): ConsumerReplies(None, 1),
    }
    assert lines(consumer_reply_columns(keys, heads, signals)) == [
        'streamgauge_consumer_acks_total{consumer="a"} 5',
        'streamgauge_consumer_pulls_total{consumer="a"} 2',
        'streamgauge_consumer_pulls_total{consumer="b"} 1',
        'streamgauge_consumer_dead_letter_captured{consumer="a"} 0',
    ]
